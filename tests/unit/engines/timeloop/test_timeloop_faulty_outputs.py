"""Outputs of Timeloop that are no result are refused by name."""

import re
from pathlib import Path

import pytest

from jouleloop.engines.timeloop.outputs import parse_evaluation, parse_map, read_evaluation, read_mapping
from jouleloop.errors import EngineError
from jouleloop.workload.layer import Layer
from paths import REFERENCE

RUN = REFERENCE / "timeloop_runs" / "fc_eyeriss_1024x128"
STATS = (RUN / "timeloop-mapper.stats.txt").read_text()
XML = (RUN / "timeloop-mapper.map+stats.xml").read_text()
MAP = (RUN / "timeloop-mapper.map.txt").read_text()
FC = Layer.of("fc", 1024, 128).problem()


def test_missing_and_empty_files(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="was not written"):
        read_mapping(tmp_path, "timeloop-mapper")
    (tmp_path / "timeloop-mapper.stats.txt").write_text("\n")
    with pytest.raises(EngineError, match="is empty"):
        read_evaluation(tmp_path, "timeloop-mapper", FC)


def test_empty_xml_falls_back_to_the_text(tmp_path: Path) -> None:
    (tmp_path / "timeloop-mapper.stats.txt").write_text(STATS)
    (tmp_path / "timeloop-mapper.map+stats.xml").write_text("")
    assert read_evaluation(tmp_path, "timeloop-mapper", FC).energy_pj == pytest.approx(17767761.20, abs=0.1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("for C in [0:64)", "for C in [0:64,65)", "residual end"),
        ("for C in [0:64)", "while C in [0:64)", "is no line of a loop nest"),
        (MAP, "", "no level"),
        ("shared_glb [", "| for C in [0:2)\nshared_glb [", ""),
    ],
)
def test_faulty_maps(old: str, new: str, message: str) -> None:
    if message:
        with pytest.raises(EngineError, match=message):
            parse_map(MAP.replace(old, new))
    else:
        assert parse_map(MAP.replace(old, new))[0].levels[0].temporal == (("C", 2),)


def test_loop_before_any_level() -> None:
    with pytest.raises(EngineError, match="before the first level"):
        parse_map("| for C in [0:2)\n" + MAP)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Summary Stats\n-------------", "", "no section Summary"),
        ("Networks\n--------", "", "no section Networks"),
        ("\nCycles: 2048", "", "no Cycles"),
        ("    Cycles                  : 2048", "", "mac has no line 'Cycles'"),
        ("    Total                        = 135557.26", "    Total                        = 135560.26", "add up"),
        ("=== shared_glb ===", "=== renamed ===", "lacks levels"),
    ],
)
def test_faulty_statistics(old: str, new: str, message: str) -> None:
    assert old in STATS
    with pytest.raises(EngineError, match=message):
        parse_evaluation(STATS.replace(old, new), XML if "level" in message or "add" in message else None, FC)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("</mapping>", ""),
        ("<level_name>psum_spad</level_name>", ""),
        ("6.40000000000000000e+01", "6.45000000000000000e+01"),
        ("<keep class_id", "<kept class_id"),
        ("levels_", "layers_"),
    ],
)
def test_faulty_xml(old: str, new: str) -> None:
    assert old in XML
    broken = XML.replace(old, new).replace("</keep>", "</kept>" if "kept" in new else "</keep>", 1)
    with pytest.raises(EngineError, match="XML"):
        parse_evaluation(STATS, broken, FC)


def test_missing_last_tag_is_supplied() -> None:
    whole = parse_evaluation(STATS, XML, FC)
    assert parse_evaluation(STATS, XML.replace("</boost_serialization>", ""), FC) == whole


def test_wrong_number_of_data_spaces() -> None:
    with pytest.raises(EngineError, match="XML of an unknown form"):
        parse_evaluation(STATS, XML.replace("<item>0</item>\n\t\t\t\t\t\t\t\t<item>0</item>", "<item>0</item>", 1), FC)


def test_a_total_in_pj_is_read_as_one() -> None:
    """So print the builds before September 2023; half a last digit is then a thousand times as much."""
    total = float(re.findall(r"^ +Total += ([\d.]+)", STATS, re.MULTILINE)[-1])

    def printed(pj: float) -> str:
        return re.sub(r"(^ +Total += )[\d.]+\s*\Z", rf"\g<1>{pj:.2f}\n", STATS, flags=re.MULTILINE).replace(
            "fJ/Compute", "pJ/Compute"
        )

    assert parse_evaluation(printed(total / 1000), XML, FC) == parse_evaluation(STATS, XML, FC)
    for wrong in (total, total / 1000 + 1):
        with pytest.raises(EngineError, match="do not add up"):
            parse_evaluation(printed(wrong), XML, FC)


def test_leakage_is_printed_with_two_decimals() -> None:
    """The total of few computations has more of them, so that it need not be the sum of what is printed."""
    run = REFERENCE / "timeloop_runs" / "probe_later"
    stats, xml = ((run / f"timeloop-model.{name}").read_text() for name in ("stats.txt", "map+stats.xml"))
    line, problem = "Leakage energy (total)          : %.2f pJ", Layer.of("conv", 1, 1, R=2, P=2).problem()
    assert stats.count(line % 0) == stats.count(line % 2) == 1
    assert parse_evaluation(stats.replace(line % 0, line % 0.01), xml, problem).energy_pj == pytest.approx(45.01)
    with pytest.raises(EngineError, match="do not add up"):
        parse_evaluation(stats.replace(line % 0, line % 0.06), xml, problem)


def test_a_network_that_the_design_names_counts_in_the_total() -> None:
    """Timeloop prints it under that name, which tells no ends."""
    title = "shared_glb <==> DummyBuffer\n\n"
    whole = parse_evaluation(STATS, XML, FC)
    head, network = STATS.replace(title, "on-chip network\n\n").split("on-chip network\n\n")
    charged = network.replace("Energy (total)                          : 0.00", "Energy (total)      : 1310720.00", 1)
    charged = charged.replace("135557.26", "145557.26")
    found = parse_evaluation(f"{head}on-chip network\n\n{charged}", XML, FC)
    assert found.energy_pj == pytest.approx(whole.energy_pj + 1310720)
    assert found.networks["on-chip network"]["Weights"].energy_pj == 1310720
    assert found.networks["on-chip network"]["Inputs"] == whole.networks["shared_glb<==>DummyBuffer"]["Inputs"]
