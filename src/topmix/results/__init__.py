"""What was learned, as frozen values; tables, names, groups, predictions and measures are functions of them."""
