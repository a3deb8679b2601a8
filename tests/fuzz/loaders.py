"""Every reader of a file that a user may give, with a sound file to start from: what the fuzzers are run on."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jouleloop.api.explorations import explore
from jouleloop.api.project import load_target
from jouleloop.arch.read import read_architecture
from jouleloop.columns import read_table
from jouleloop.config.load import load_study, read_config
from jouleloop.energy.choice import costs_of, sources_of
from jouleloop.energy.estimator import estimate_costs
from jouleloop.energy.interpolated import InterpolatedEstimator
from jouleloop.engines.protocol import SEMANTICS, SearchOptions, Target
from jouleloop.engines.registry import get_engine
from jouleloop.engines.verify import verify_folder
from jouleloop.exploration.space_file import SpaceFile, read_space
from jouleloop.files import read_json
from jouleloop.fusion.chain import read_chain
from jouleloop.fusion.sweep import load_chain_sweep
from jouleloop.mapping.formats import from_levels, read_timeloop_mapping
from jouleloop.mapping.nest import read_map_txt
from jouleloop.mapspace.read import read_constraints, read_mapper
from jouleloop.optimum.limit import Limit, Watch
from jouleloop.study.store import ResultStore
from jouleloop.study.targets import TargetFiles, TargetSet
from jouleloop.tables.layouts import ANY
from jouleloop.tables.published import read_published
from jouleloop.theory.loop_nest.read import read_loop_nest
from jouleloop.workload.layer import CONV
from jouleloop.workload.onnx_read import read_graph
from jouleloop.workload.sizes import parse_layer
from jouleloop.workload.sweep import Sweep, load_network, load_sweep, load_sweeps
from jouleloop.workload.timeloop_problem import read_problem

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "tests" / "reference"
RUNS = REFERENCE / "timeloop_runs"
PROBLEM = parse_layer("fc:1024x128").problem()
SMALL = parse_layer("fc:4x6").problem()


@cache
def simba() -> TargetSet:
    files = ("arch/simba.yaml", "arch/energy/simba-45nm-accelergy03.yaml", "mappings/simba.yaml")
    return TargetSet(TargetFiles("simba", *(ROOT / name for name in files)), SEMANTICS[0])


def _target(arch: str, constraints: str, semantics: str) -> Target:
    hash((arch, constraints, semantics))
    return simba().for_shape(CONV)


def _architecture(path: Path) -> None:
    arch = read_architecture(path)
    estimate_costs(arch, [_estimator()], warn=str)


@cache
def _estimator() -> InterpolatedEstimator:
    return InterpolatedEstimator.read(ROOT / "arch" / "energy")


def _verify(path: Path) -> None:
    for name in ("cases_x.json", "mapper_optima.json"):
        folder = path.parent / f"verify-{name}"
        folder.mkdir(exist_ok=True)
        (folder / name).write_bytes(path.read_bytes())
        for _ in verify_folder(folder, get_engine("native"), _target):
            break


def _published(path: Path) -> None:
    sweep = Sweep("s", "conv", (), "s.yaml", published=(("simba", str(path)),))
    table = read_published(sweep, "simba")
    assert table is not None
    assert table.to_numpy().dtype.kind in "fiu"


def _store(path: Path) -> None:
    folder = path.parent / "store"
    folder.mkdir(exist_ok=True)
    (folder / "segment-x.parquet").write_bytes(path.read_bytes())
    store = ResultStore(folder)
    assert list(store.read(store.keys() | {"a"})) == []


def _mapped(arch: str = "simba", **files: object) -> None:
    """Search a small layer on a design as `jouleloop map` does; a layer that cannot be mapped is an answer, too."""
    target = load_target(arch, semantics=SEMANTICS[0], **files)
    get_engine("native").search(SMALL, target.for_shape(CONV), SearchOptions(budget=20))


@dataclass(frozen=True)
class Loader:
    """A reader, the ending of its files, and a sound one."""

    read: Callable[[Path], object]
    sound: Path | None = None
    ending: str = ".yaml"


LOADERS: dict[str, Loader] = {
    "sweep": Loader(load_sweep, ROOT / "layers/conv_kernel.yaml"),
    "random sweep": Loader(load_sweep, ROOT / "layers/conv_random.yaml"),
    "network": Loader(load_network, ROOT / "layers/networks/alexnet.yaml"),
    "published": Loader(_published, ROOT / "layers/published/simba_energy_stride.csv", ".csv"),
    "architecture v0.4": Loader(_architecture, ROOT / "arch/simba.yaml"),
    "architecture v0.3": Loader(_architecture, RUNS / "simba_like.v03.yaml"),
    "constraints": Loader(lambda p: read_constraints(p, simba().arch), ROOT / "mappings/simba.yaml"),
    "design, mapped": Loader(lambda p: _mapped(str(p)), ROOT / "arch/simba.yaml"),
    "constraints, mapped": Loader(lambda p: _mapped(constraints=p), ROOT / "mappings/simba.yaml"),
    "energies, mapped": Loader(lambda p: _mapped(energy=[str(p)]), ROOT / "arch/energy/simba-45nm-accelergy03.yaml"),
    "chain": Loader(read_chain, ROOT / "layers/chains/bottleneck_mobilenet.yaml"),
    "sweep of chains": Loader(load_chain_sweep, ROOT / "layers/attention_chain.yaml"),
    "sweep of a capacity": Loader(load_sweeps, ROOT / "layers/orojenesis_10.yaml"),
    "space": Loader(lambda p: read_space(p, SpaceFile.variants), ROOT / "tests/fuzz/space.yaml"),
    "space, mapped": Loader(lambda p: explore(p, watch=Watch(Limit(0.2))), ROOT / "tests/fuzz/space.yaml"),
    "mapper": Loader(read_mapper, ROOT / "mappings/simba.yaml"),
    "energy table": Loader(
        lambda p: costs_of(simba().arch, sources_of(p)), ROOT / "arch/energy/simba-45nm-accelergy03.yaml"
    ),
    "components": Loader(
        lambda p: InterpolatedEstimator.read(ROOT / "arch" / "energy", (p,)), ROOT / "arch/energy/components.yaml"
    ),
    "ONNX": Loader(read_graph, ending=".onnx"),
    "ERT": Loader(lambda p: costs_of(simba().arch, sources_of(p)), RUNS / "fc_simba_1024x128.ERT.yaml"),
    "mapping": Loader(
        lambda p: read_timeloop_mapping(p, PROBLEM, simba().arch), ROOT / "mappings/examples/simba-fc-1024x128.yaml"
    ),
    "printed mapping": Loader(
        lambda p: read_map_txt(p, PROBLEM, simba().arch), RUNS / "fc_simba_1024x128.map.txt", ".txt"
    ),
    "mapping of levels": Loader(lambda p: from_levels(read_json(p), PROBLEM, simba().arch), ending=".json"),
    "problem": Loader(read_problem, REFERENCE / "exercises/problem.yaml"),
    "configuration": Loader(lambda p: load_study(read_config(p), ROOT), ROOT / "config/config.yaml"),
    "cases": Loader(_verify, ending=".json"),
    "loop nest": Loader(lambda p: read_loop_nest(None, p, {})),
    "table": Loader(lambda path: read_table(path, ANY), ending=".parquet"),
    "store": Loader(_store, ending=".parquet"),
}
