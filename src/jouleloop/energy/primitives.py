"""Primitive components: registers, register files, arithmetic and DRAM by Accelergy's scaling rules, SRAM from CACTI.

Units measured at 40 and 45 nm are scaled to other nodes
by `jouleloop.energy.scaling`. The rules restate those of Accelergy 0.3's Aladdin and CACTI plug-ins (commits 7fe4102
and 643e6fc): a register file of depth d and width w is w registers and d comparators of ceil(log2 d) bits, a
multiply-accumulate unit an adder and a multiplier, DRAM costs per bit by its type. Energies are rounded to 5 decimals
as Accelergy does.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jouleloop.energy.cacti import CactiGrid, OutsideGrid
from jouleloop.energy.scaling import covers, logic_area_scale, logic_scale
from jouleloop.errors import EnergyTableError, Fault
from jouleloop.files import is_whole, read_yaml

DECIMALS = 5
#: What may be asked for like an action: the area of one instance [um2], by the rules by which energies add up.
AREA = "area"

_CLASSES = read_yaml(Path(__file__).with_name("primitives.yaml"))
#: Attributes of each primitive class where an architecture gives none.
DEFAULTS: dict[str, dict[str, Any]] = {klass: one["attributes"] for klass, one in _CLASSES.items()}
#: Actions of each primitive class.
ACTIONS: dict[str, tuple[str, ...]] = {klass: tuple(one["actions"]) for klass, one in _CLASSES.items()}
#: Units of the classes of version 0.4's library, which scale with all of their attributes.
_LIBRARY: dict[str, str] = {klass: one["unit"] for klass, one in _CLASSES.items() if "unit" in one}
#: The node of the numbers, from which others are scaled; version 0.3 takes them at 40 nm, too.
_LIBRARY_NM = 45

_PARTS = ("adder", "multiplier")
#: What is known of a unit beside its area: the energy of an action, and of an idle cycle.
_ACTIVE, _IDLE = "active", "idle"

#: Attributes of version 0.4 that mean the same as one of version 0.3, where that is not given.
_NAMES = {"n_rw_ports": "n_rdwr_ports", "width": "datawidth"}


class NoEstimate(ValueError):  # noqa: N818 - says what happened
    """A primitive has no energy; the text says why."""


@dataclass(frozen=True)
class _Unit:
    scale: str
    reference_bits: int
    numbers: Mapping[float, Mapping[str, float]]
    """By latency [ns]: energy of an action and of an idle cycle [pJ], and the area [um2]."""

    def number(self, latency_ns: int, what: str, bits: float) -> float:
        if latency_ns not in self.numbers:
            raise NoEstimate(f"no unit of {latency_ns} ns latency is characterised")
        power = {"none": 0, "bits": 1, "bits_squared": 2}[self.scale]
        return self.numbers[latency_ns][what] * (bits / self.reference_bits) ** power


@dataclass(frozen=True)
class Primitives:
    """Energies of primitive components from the Aladdin numbers, the CACTI grid and DRAM energies per bit."""

    units: Mapping[str, _Unit]
    technology_nm: frozenset[int]
    dram_pj_per_bit: Mapping[str, float]
    grid: CactiGrid

    @classmethod
    def read(cls, folder: Path) -> "Primitives":
        """Return the numbers of ``aladdin-45nm.yaml`` and ``cacti/`` in a folder."""
        path = folder / "aladdin-45nm.yaml"
        data = read_yaml(path)
        try:
            top = data["aladdin"]
            units = {
                str(name): _Unit(
                    str(unit["scale"]),
                    int(unit["reference_bits"]),
                    {
                        ns: {_ACTIVE: active, _IDLE: idle, AREA: area}
                        for (ns, active, idle), area in zip(unit["energies"], unit["areas_um2"], strict=True)
                    },
                )
                for name, unit in top["units_of_hardware"].items()
            }
            technologies = frozenset(int(nm) for nm in top["technology_nm"])
            dram = {str(kind): float(value) for kind, value in data["dram"]["pj_per_bit"].items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise EnergyTableError(Fault(f"is no table of Aladdin's energies: {error!r}", str(path))) from error
        return cls(units, technologies, dram, CactiGrid.read(folder / "cacti"))

    def energy(self, klass: str, attributes: Mapping[str, Any], action: str, arguments: Mapping[str, Any]) -> float:
        """Return the energy of one action in pJ, or the area in um2 where that is asked for.

        Raises `NoEstimate` where class, technology, size or type are not known here.
        """
        if klass not in ACTIONS:
            raise NoEstimate(f"class {klass} is no primitive known here")
        stated = {key: value for key, value in attributes.items() if value is not None}
        for new, old in _NAMES.items():
            if new in stated and new not in DEFAULTS[klass] and old in DEFAULTS[klass]:
                stated.setdefault(old, stated[new])
        given = {**DEFAULTS[klass], **stated}
        if klass.startswith("dummy_"):
            return 0.0
        if klass == "DRAM":
            return self._dram(given, action)
        nm = _nanometres(given.get("technology"))
        if klass == "SRAM":
            return self._sram(given, action, arguments, nm)
        if klass in _LIBRARY:
            return self._library(klass, stated, action, nm)
        return round(self._scale(klass, given, nm, action) * self._aladdin(klass, given, action, arguments), DECIMALS)

    def _scale(self, klass: str, given: Mapping[str, Any], nm: int | None, action: str) -> float:
        """Return what a unit costs or takes at a node over the same where it was measured."""
        if nm in self.technology_nm:
            return 1.0
        if nm is None or not covers(nm):
            raise NoEstimate(f"{klass} {_node(given)}, known are 7 to 130 nm")
        return logic_area_scale(nm) if action == AREA else logic_scale(_LIBRARY_NM, nm)

    def _dram(self, given: Mapping[str, Any], action: str) -> float:
        if action == AREA:
            return 0.0  # of the chip
        kind = str(given.get("type"))
        if kind not in self.dram_pj_per_bit:
            raise NoEstimate(f"DRAM type {kind}, known are {', '.join(self.dram_pj_per_bit)}")
        return 0.0 if action == "idle" else round(self.dram_pj_per_bit[kind] * _number(given, "width"), DECIMALS)

    def _library(self, klass: str, stated: Mapping[str, Any], action: str, nm: int | None) -> float:
        scale = self._scale(klass, stated, nm, action)
        if action == "write":
            return 0.0
        name = _LIBRARY[klass]
        what = AREA if action == AREA else _ACTIVE
        energy = scale * self.units[name].number(1, what, self.units[name].reference_bits)
        for key in DEFAULTS[klass]:
            width = {key: stated.get(key, stated.get(f"data{key}", DEFAULTS[klass][key]))}
            energy *= _number(width, key) / DEFAULTS[klass][key]
        return energy

    def _sram(self, given: Mapping[str, Any], action: str, arguments: Mapping[str, Any], nm: int | None) -> float:
        depth, width, banks = (int(_number(given, key)) for key in ("depth", "width", "n_banks"))
        ports = int(sum(_number(given, key) for key in ("n_rdwr_ports", "n_rd_ports", "n_wr_ports")))
        if nm is None:
            raise NoEstimate(f"SRAM {_node(given)}, such as 45nm is needed")
        if min(depth, width, banks) < 1:
            raise NoEstimate(f"SRAM of depth {depth}, width {width} and {banks} banks")
        try:
            found = self.grid.energy(depth, width, banks, max(ports, 1), nm)
        except OutsideGrid as error:
            if depth <= 128 and width <= 32:
                scale = self._scale("SRAM", given, nm, action)
                return round(scale * self._aladdin("regfile", given, action, arguments), DECIMALS)
            raise NoEstimate(f"SRAM with {error}") from error
        if action == "idle":
            return round(found.idle_pj, DECIMALS)
        if action == AREA:
            # Banks were rounded up to a power of two.
            return round(found.area_um2 * banks / (1 << max(banks - 1, 0).bit_length()), DECIMALS)
        # Decoding the address is taken to cost 30 %, the cells 70 % of what an access costs above idling.
        whole = found.read_pj if action == "read" else found.write_pj
        address, data = float(arguments.get("address_delta", banks)), float(arguments.get("data_delta", 1))
        above = whole - found.idle_pj
        return round(found.idle_pj + above * (0.3 * address / banks + 0.7 * data), DECIMALS)

    def _aladdin(self, klass: str, given: Mapping[str, Any], action: str, arguments: Mapping[str, Any]) -> float:
        idle = action == "idle"
        asked = action if action in (_IDLE, AREA) else _ACTIVE
        latency = _latency_ns(given.get("latency", _cycle_ns(given.get("global_cycle_seconds"))))

        def unit(name: str, bits: float = 1, *, what: str = asked, ns: int = latency) -> float:
            return self.units[name].number(ns, what, bits)

        match klass:
            case "reg":
                return unit("reg")
            case "regfile" | "SRAM":
                width, depth = _number(given, "width"), _number(given, "depth")
                if depth == 0:
                    return 0.0
                data = _IDLE if arguments.get("data_delta", 1) == 0 else asked
                address = _IDLE if arguments.get("address_delta", 1) == 0 else asked
                bits = math.ceil(math.log2(depth))
                return unit("reg", what=data) * width + unit("comparator", bits, what=address, ns=5) * depth
            case "FIFO":
                depth = _number(given, "depth")
                bits_exact = math.log2(depth) if depth else 0.0
                stored = unit("reg") * _number(given, "datawidth")
                return stored + unit("comparator", bits_exact, ns=5) if depth else 0.0
            case "intadder":
                return unit("adder", _number(given, "datawidth"))
            case "intmultiplier" | "fpmultiplier":
                return self._multiplier(klass, given, action.removeprefix("mult_"), latency)
            case "intmac" | "fpmac":
                kind = action.removeprefix("mac_")
                # A design may state a width for each part, as Timeloop's exercises do; Accelergy 0.3 has one for both.
                parts = {key: {"datawidth": given.get(f"{key}_width", given.get("datawidth"))} for key in _PARTS}
                whole = klass == "fpmac"
                adder = self._float_unit("adder", given) if whole else ("adder", _number(parts["adder"], "datawidth"))
                # The plug-in reuses and gates only integer multipliers.
                inner = kind if klass == "intmac" or asked == AREA else ("idle" if idle else "random")
                of_multiplier = given if whole else {**given, **parts["multiplier"]}
                product = self._multiplier(klass.replace("mac", "multiplier"), of_multiplier, inner, latency)
                return unit(adder[0], adder[1]) + product
            case "fpadder":
                name, bits_float = self._float_unit("adder", given)
                return unit(name, bits_float)
            case "comparator":
                return unit("comparator", _number(given, "datawidth"))
            case "counter":
                return unit("counter", _number(given, "width"))
            case "bitwise":
                return unit("bitwise") * (_number(given, "datawidth") if asked == AREA else 1)
            case "crossbar":
                lanes = _number(given, "n_inputs") * _number(given, "n_outputs") / 4
                return unit("crossbar", _number(given, "datawidth")) * lanes
        raise NoEstimate(f"class {klass} is no primitive known here")

    def _float_unit(self, name: str, given: Mapping[str, Any]) -> tuple[str, float]:
        bits = _number(given, "exponent") + _number(given, "mantissa")
        return f"fp_{'sp' if bits <= 32 else 'dp'}_{name}", bits

    def _multiplier(self, klass: str, given: Mapping[str, Any], kind: str, latency: int) -> float:
        if klass == "fpmultiplier":
            name, bits = self._float_unit("multiplier", given)
        else:
            name, bits = "multiplier", _number(given, "datawidth")
        what = AREA if kind == AREA else _IDLE if kind in ("idle", "gated") else _ACTIVE
        energy = self.units[name].number(latency, what, bits)
        return 0.85 * energy if kind == "reused" else energy


def _cycle_ns(cycle_seconds: Any) -> float:
    """Return the latency in ns of a unit in a design with that clock period, which version 0.4 states; else 5."""
    known = isinstance(cycle_seconds, (int, float)) and 0 < cycle_seconds < 1
    return cycle_seconds * 1e9 if known else 5


def _number(given: Mapping[str, Any], key: str) -> float:
    value = given.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 2**60:
        raise NoEstimate(f"attribute {key} is {value!r}, a number is needed")
    return float(value)


def _node(given: Mapping[str, Any]) -> str:
    stated = given.get("technology")
    return "without a technology" if stated is None else f"at technology {stated}"


def _nanometres(value: Any) -> int | None:
    text = str(value).strip().lower().removesuffix("nm").strip()
    if is_whole(value):
        return int(value)
    return int(text) if text.isdigit() else None


def _latency_ns(value: Any) -> int:
    match = re.fullmatch(r"\s*([\d.]+)\s*(ns|ps)?\s*", str(value))
    if not match:
        raise NoEstimate(f"attribute latency is {value!r}, such as 5ns is needed")
    latency = math.ceil(float(match[1]) / (1000 if match[2] == "ps" else 1))
    return 10 if latency > 10 else min(latency, 6)
