"""Files in the documentation that start clusters fit the schemas that can be had here."""

import re
from pathlib import Path

import yaml
from ray.autoscaler._private.util import prepare_config, validate_config

PAGE = Path(__file__).parents[2] / "docs" / "cluster.md"


def blocks():
    return [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)]


def test_the_file_for_ray_up_fits_its_schema():
    [config] = [block for block in blocks() if "cluster_name" in block]
    validate_config(prepare_config(config))


def test_the_manifest_of_kuberay_names_containers_and_resources():
    [manifest] = [block for block in blocks() if block.get("kind") == "RayCluster"]
    assert manifest["apiVersion"] == "ray.io/v1"
    groups = [manifest["spec"]["headGroupSpec"], *manifest["spec"]["workerGroupSpecs"]]
    for group in groups:
        [container] = group["template"]["spec"]["containers"]
        assert container["resources"]["requests"] == container["resources"]["limits"]
        assert all(isinstance(value, str) for value in group["rayStartParams"].values())
    assert all(g["minReplicas"] <= g["replicas"] <= g["maxReplicas"] for g in groups[1:])
