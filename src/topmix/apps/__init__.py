"""What people touch: the command, the explorer, the report, the service, plots and exports. They use public names."""
