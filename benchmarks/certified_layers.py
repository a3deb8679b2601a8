"""Certify published layers with imperfect factors, check each certificate, and print what both take.

python benchmarks/certified_layers.py [--only LAYER]

Every command is a process of its own: its processor seconds hold the start of the program, and of the kernels.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

#: Network and layer as published, the layer as text, the design.
LAYERS = (
    ("LeNet-5 C3", "conv:C6xM16xP10xQ10xR5xS5", "eyeriss"),
    ("LeNet-5 F6", "fc:120x84", "simba"),
    ("AlexNet conv3", "conv:C256xM384xP13xQ13xR3xS3", "eyeriss"),
    ("AlexNet fc8", "fc:4096x1000", "simba"),
    ("VGG-16 fc6", "fc:25088x4096", "simba"),
    ("VGG-16 fc7", "fc:4096x4096", "simba"),
    ("ResNet-50 fc", "fc:2048x1000", "eyeriss"),
    ("ResNet-50 conv5_reduce", "conv:C2048xM512xP7xQ7xR1xS1", "simba"),
    ("ResNet-50 conv5_spatial", "conv:C512xM512xP7xQ7xR3xS3", "simba"),
    ("MobileNetV2 classifier", "fc:1280x1000", "simba"),
)


def run(*command: str) -> tuple[float, str]:
    """Run one command; return its processor seconds and what it printed."""
    before = os.times()
    done = subprocess.run([sys.executable, "-m", "jouleloop", *command], capture_output=True, text=True, check=False)
    after = os.times()
    spent = after.children_user - before.children_user + after.children_system - before.children_system
    return spent, (done.stdout + done.stderr).strip()


def main() -> None:
    """Print a row a layer as it comes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="Layers whose name holds this.", default="")
    chosen = parser.parse_args()
    print("| layer | design | write [CPU s] | check [CPU s] | size [kB] | verdict |\n|---|---|---:|---:|---:|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, text, design in LAYERS:
            if chosen.only not in name:
                continue
            file = Path(folder) / "certificate.json"
            wanted = ("--layer", text, "--arch", design, "--factors", "imperfect", "--certificate", str(file))
            wrote, told = run("map", *wanted)
            if not file.exists():
                print(f"| {name} `{text}` | {design} | {wrote:.1f} | | | {told.splitlines()[-1]} |", flush=True)
                continue
            checked, told = run("check", str(file))
            size = file.stat().st_size / 1000
            verdict = told.split(":")[0]
            print(f"| {name} `{text}` | {design} | {wrote:.1f} | {checked:.1f} | {size:.0f} | {verdict} |", flush=True)
            file.unlink()


if __name__ == "__main__":
    main()
