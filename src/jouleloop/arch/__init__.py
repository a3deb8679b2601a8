"""The accelerator: storage hierarchy, fan-outs, word widths; reads and writes Timeloop architecture files."""
