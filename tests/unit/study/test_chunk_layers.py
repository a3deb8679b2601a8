"""The layers that a chunk's job searches are those it was planned with, or it stops."""

from pathlib import Path

import pytest

from jouleloop.config.load import load_study, read_config
from jouleloop.config.model import Config
from jouleloop.errors import InputError
from jouleloop.study.chunks import chunk_digest, write_layers
from jouleloop.study.plan import chunk_layers, plan, plan_variants
from jouleloop.study.variants import points_digest
from paths import ROOT


@pytest.fixture
def config() -> Config:
    return read_config(ROOT / "config/config.yaml").model_copy(update={"sweeps": ["fc_inputs"], "networks": []})


def test_a_chunk_is_read_from_its_file_or_cut_again(config: Config, tmp_path: Path) -> None:
    chunks = plan(load_study(config, ROOT))
    assert sum(map(len, chunks.values())) == len({layer.spec() for chunk in chunks.values() for layer in chunk})
    (name, layers), *_ = chunks.items()
    path = tmp_path / "0000.txt"
    write_layers(path, layers)
    assert chunk_layers(config, name, chunk_digest(layers), path, ROOT) == layers
    # Without the file, with half of it, with rubbish in it: cut again.
    for content in (None, "".join(path.read_text().splitlines(keepends=True)[:-1]), "fc:"):
        path.unlink()
        if content is not None:
            path.write_text(content)
        assert chunk_layers(config, name, chunk_digest(layers), path, ROOT) == layers
        path.touch()


def test_a_sweep_that_was_edited_meanwhile_stops_the_job(config: Config, tmp_path: Path) -> None:
    layers = next(iter(plan(load_study(config, ROOT)).values()))
    with pytest.raises(InputError, match="chunk 0000: the sweeps were changed while the run was under way"):
        chunk_layers(config, "0000", chunk_digest(layers[1:]), tmp_path / "0000.txt", ROOT)


def test_points_of_variants_have_a_hash(config: Config) -> None:
    study = load_study(config.model_copy(update={"sweeps": ["glb_size"]}), ROOT)
    assert plan(study) == {}
    points = next(iter(plan_variants(study, "eyeriss").values()))
    assert len(points) > 1
    digests = {points_digest(some) for some in (points, points[1:], points[::-1], [])}
    assert len(digests) == 4
    assert points_digest(list(points)) in digests
