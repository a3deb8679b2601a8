"""The verdict in words: one paragraph a sweep, generated from the table of verdicts."""

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from jouleloop.stats.deciding import POWER
from jouleloop.stats.expected import growth_named

_NAMED_LAYERS = 5
_LEVEL = 0.05  # of the paper's test, paper 002, Section 6
_VERDICT_ORDER = ("exact", "confirmed", "inconclusive", "refuted", "not tested")
_SETTLED = {
    "exact": "The expected growth holds exactly",
    "confirmed": "Within the margin and over this range the expected growth is confirmed",
    "refuted": "The expected growth is refuted",
    "inconclusive": "These points neither confirm nor refute the expected growth",
    "not tested": "Nothing is tested",
}


def describe(verdicts: pd.DataFrame, left_out: pd.DataFrame) -> dict[str, str]:
    """Return one paragraph per sweep.

    Parameters
    ----------
    verdicts
        Rows of results/verdicts.csv.
    left_out
        The rows that were not tested, with columns sweep, architecture, layer, status, reason.
    """
    return {
        str(sweep): describe_sweep(rows, left_out[left_out["sweep"] == sweep])
        for sweep, rows in verdicts.groupby("sweep", sort=False)
    }


def describe_sweep(rows: pd.DataFrame, left_out: pd.DataFrame) -> str:
    """Return the paragraph of one sweep: its question, then for each architecture the first response's verdict and why.

    The first response is the first row of an architecture, by default the data energy; of the others the verdicts are
    counted.
    """
    first = rows.iloc[0]
    question = growth_named(str(first["expected"])).adjective.format(x=first["variable"])
    parts = [f"Sweep {first['sweep']}: theory says that {first['response_label']} {question}."]
    group = ["architecture", "engine", "energy_table"]
    mixed = rows[group].drop_duplicates()["architecture"].duplicated().any()
    for (architecture, engine, table), part in rows.groupby(group, sort=False):
        name = str(architecture).capitalize()
        if mixed:
            name += f" ({engine}, {table})"
        parts.append(f"{name}: {describe_row(dict(part.iloc[0]))}")
        first_response = str(part.iloc[0]["response"])
        if len(left_out):
            missing = left_out["response"].isin(["all", first_response])
            own = (left_out[group] == [architecture, engine, table]).all(axis=1)
            parts += _omitted(left_out[own & missing])
        parts += _others(part.iloc[1:])
    return " ".join(parts)


def describe_row(row: Mapping[Hashable, Any]) -> str:
    """Return the verdict of one row of results/verdicts.csv in words."""
    verdict = str(row["verdict"])
    sentences = [f"{_SETTLED[verdict]} for {row['response_label']} ({_points(row)})"]
    if verdict == "exact":
        sentences[0] += f": it is {row['reason']}, which leaves nothing to test."
        return " ".join(sentences)
    sentences[0] += f": {row['reason']}."
    if verdict == "confirmed":
        held = "holds" if row["confirmation_p_holm"] <= _LEVEL else "does not hold"
        sentences.append(
            f"This verdict stands alone (p = {row['confirmation_p']:.2g}); it {held} together with all others of the "
            f"study (Holm, p = {row['confirmation_p_holm']:.2g})."
        )
    if row["n"] == 0 or pd.isna(row["r_squared"]):
        return " ".join(sentences)
    if verdict == "inconclusive":
        sentences += _deciding(row)
    if not pd.isna(row["exponent"]):
        sentences.append(_exponent(row))
    if not pd.isna(row["quadratic_p"]):
        sentences += _paper_test(row)
    if not row["exact"]:
        deviation = f"The largest deviation from the fit is {100 * row['max_relative_deviation']:.3g} %"
        sentences.append(f"{deviation} (layer {row['max_deviation_layer']}).")
    if not pd.isna(row["divisibility_p"]) and row["divisibility_p"] < _LEVEL:
        better = "less" if row["divisibility_correlation"] < 0 else "more"
        sentences.append(
            f"Layers whose dimensions can be tiled in more ways cost {better}, relative to the fit (rank correlation "
            f"{row['divisibility_correlation']:.2f}, p = {row['divisibility_p']:.2g})."
        )
    if row["envelope_n"] > 0 and not pd.isna(row["envelope_exponent"]):
        sentences.append(
            f"The {row['envelope_n']} best layers alone have the exponent {row['envelope_exponent']:.3f} "
            f"and the verdict {row['envelope_verdict']}."
        )
    return " ".join(sentences)


def _deciding(row: Mapping[Hashable, Any]) -> list[str]:
    """Return what would decide an inconclusive verdict; nothing where the reason itself says what is missing."""
    if not pd.isna(row["sizes_needed"]):
        chance = f"in {100 * POWER:.0f} of 100 cases"
        text = f"About {int(row['sizes_needed'])} sizes of this range that scatter alike would confirm it {chance}"
        return [f"{text}; sizes that divide alike scatter less."]
    if pd.isna(row["excess_low"]) or pd.isna(row["misfit_low"]):
        return []
    return ["No number of sizes of this range would confirm it; another range, or another form, would be decided."]


def _paper_test(row: Mapping[Hashable, Any]) -> list[str]:
    growth = growth_named(str(row["expected"]))
    regressor = growth.regressor.format(x=row["variable"])
    p_value, corrected = row["quadratic_p"], row["quadratic_p_holm"]
    accepted = p_value > _LEVEL
    text = f"The paper's test of a quadratic term in {regressor} gives p = {p_value:.3g}"
    if not pd.isna(row["published_p"]):
        text += f" (published: {row['published_p']:.4g})"
    text += f" and so {'accepts' if accepted else 'rejects'} linearity in {regressor} at the level {_LEVEL}"
    if not accepted and corrected > _LEVEL:
        text += f", though not after Holm's correction over all tests (p = {corrected:.3g})"
    sentences = [f"{text}."]
    if growth.degree == 1 and accepted and row["verdict"] == "inconclusive":
        sentences.append("That p-value alone is absence of evidence: it does not bound the curvature.")
    if growth.degree == 1 and not accepted and row["verdict"] == "confirmed":
        sentences.append("The term is there, but smaller than the margin.")
    if growth.degree == 2 and accepted:
        sentences.append("The expected quadratic term is thus not shown by that test.")
    return sentences


def _points(row: Mapping[Hashable, Any]) -> str:
    n = int(row["n"])
    if n == 0:
        return "no usable layer"
    low, high = (f"{float(row[name]):.6g}" for name in ("variable_min", "variable_max"))
    layers = "1 layer" if n == 1 else f"{n} layers"
    return f"{layers}, {row['variable']} from {low} to {high}"


def _exponent(row: Mapping[Hashable, Any]) -> str:
    base = growth_named(str(row["expected"])).base_text.format(x=row["variable"])
    text = f"The exponent of {base} is {row['exponent']:.3f}"
    if not pd.isna(row["exponent_low"]) and not pd.isna(row["exponent_high"]):
        text += f" (interval {row['exponent_low']:.3f} to {row['exponent_high']:.3f})"
    meaning = {
        "yes": "which agrees with theory's {k}",
        "no": "which does not agree with theory's {k}",
        "undecided": "which does not settle whether it is theory's {k}",
    }.get(str(row["exponent_agrees"]), "")
    return f"{text}, {meaning.format(k=format(row['exponent_expected'], '.3g'))}." if meaning else f"{text}."


def _omitted(left_out: pd.DataFrame) -> list[str]:
    if left_out.empty:
        return []
    layers = [str(layer) for layer in left_out["layer"]]
    names = ", ".join(layers[:_NAMED_LAYERS]) + (" …" if len(layers) > _NAMED_LAYERS else "")
    causes = left_out["status"].astype(str).where(left_out["response"] == "all", "without a value")
    counts = ", ".join(f"{count} {cause}" for cause, count in causes.value_counts(sort=False).items())
    plural = "layer was" if len(layers) == 1 else "layers were"
    return [f"{len(layers)} {plural} left out ({counts}: {names})."]


def _others(rows: pd.DataFrame) -> list[str]:
    if rows.empty:
        return []
    counts = rows["verdict"].value_counts()
    refuted = [str(name) for name in rows.loc[rows["verdict"] == "refuted", "response"]]
    more = ", …" if len(refuted) > _NAMED_LAYERS else ""
    names = {"refuted": f" ({', '.join(refuted[:_NAMED_LAYERS])}{more})"}
    parts = [f"{counts[name]} {name}{names.get(name, '')}" for name in _VERDICT_ORDER if name in counts]
    responses = "response" if len(rows) == 1 else "responses"
    return [f"Of {len(rows)} further {responses}, each against the growth expected of it: {', '.join(parts)}."]
