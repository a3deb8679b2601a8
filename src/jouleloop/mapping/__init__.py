"""One loop nest: factors, order, spatial split and bypass, with Timeloop's mapping formats."""
