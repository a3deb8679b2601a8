"""The table and figure of the Gemmini tiles are complete and consistent with each other."""

from pathlib import Path

from jouleloop.theory.drawing import write_figure
from jouleloop.theory.gemmini.tables import comparison_table, draw_comparison


def test_gemmini_table_and_figure(tmp_path: Path) -> None:
    table = comparison_table(batch=64)
    best = table[(table["who"] == "best") & (table["objective"] == "estimate") & ~table["whole_image"]]
    assert list(best["layer"]) == ["conv1", "conv2", "conv3", "conv4", "conv5"]
    assert (best["estimate_over_vendor"] <= 1).all()
    traffic = table[(table["who"] == "best") & (table["objective"] == "traffic")]
    assert (traffic["traffic_words"].to_numpy() <= best["traffic_words"].to_numpy()).all()
    table.to_csv(tmp_path / "tiles.csv")
    write_figure(draw_comparison(tmp_path / "tiles.csv"), tmp_path / "tiles.svg")
    assert (tmp_path / "tiles.svg").stat().st_size > 1000
