"""The columns of the tables that the statistics make: a new statistic needs its line here, and one in `rows`."""

from jouleloop.layouts import Column, Layout

SWEEP = Column("sweep", "text", "", "Sweep.")
ARCHITECTURE = Column("architecture", "text", "", "Architecture.")
LAYER = Column("layer", "text", "", "Layer, by its name or its sizes.")
ENGINE = Column("engine", "text", "", "Engine that searched.")
ENERGY_TABLE = Column("energy_table", "text", "", "Energy reference table.")
STATUS = Column("status", "text", "", "`ok`, `no_mapping`, `invalid` or `failed`.")
REASON = Column("reason", "text", "", "Why there is no result, or no clearer one.")
RESPONSE = Column("response", "text", "", "What grows: a column of the energies, or a sum of columns.")

_KEY = (SWEEP, ARCHITECTURE, ENGINE, ENERGY_TABLE, RESPONSE)
_UNIT = Column("unit", "text", "", "Unit of the response.")
_VARIABLE = Column("variable", "text", "", "Variable of the sweep, in words.")
_EXPECTED = Column("expected", "text", "", "Growth that theory expects.")
_N = Column("n", "whole", "layers", "Layers tested.")
_R_SQUARED = Column("r_squared", "number", "", "Coefficient of determination of the expected growth's fit.")
_DEVIATION = Column("max_relative_deviation", "number", "", "Largest deviation from the fit, relative to the fit.")
_EXACT = Column("exact", "truth", "", "Whether the residuals are rounding noise.")
_QUADRATIC_P = Column("quadratic_p", "number", "", "P-value of the quadratic term, the test of paper 002.")
_PUBLISHED_P = Column("published_p", "number", "", "The p-value that paper 002 prints.")

FAMILIES = (
    "confirmation_p", "quadratic_p", "equivalence_p", "reset_p", "rainbow_p", "breusch_pagan_p", "durbin_watson_p",
)  # fmt: skip
"""Columns of p-values, each corrected by Holm over all rows of the table in which it was computed."""

FITS = Layout(
    "fits",
    "One fit: a sweep, architecture and response.",
    (
        *_KEY,
        _UNIT,
        _VARIABLE,
        _EXPECTED,
        Column("regressor", "text", "", "What the fit is a polynomial in."),
        _N,
        *(Column(f"c{i}", "number", "unit of the response", f"Coefficient of power {i - 1}.") for i in range(1, 5)),
        _R_SQUARED,
        _DEVIATION,
        _EXACT,
        Column("quadratic_a", "number", "unit of the response", "Coefficient of power 2 in the quadratic regression."),
        Column("quadratic_b", "number", "unit of the response", "Coefficient of power 1 there."),
        Column("quadratic_c", "number", "unit of the response", "Coefficient of power 0 there."),
        Column("quadratic_r_squared", "number", "", "Coefficient of determination there."),
        _QUADRATIC_P,
        Column("quadratic_note", "text", "", "Why there is no p-value."),
        _PUBLISHED_P,
    ),
)

VERDICTS = Layout(
    "verdicts",
    "One verdict: a sweep, architecture and response.",
    (
        *_KEY,
        Column("response_label", "text", "", "The response in words."),
        _UNIT,
        _VARIABLE,
        _EXPECTED,
        _N,
        Column("n_left_out", "whole", "layers", "Layers left out; `left_out` names them."),
        Column("variable_min", "number", "", "Least value of the variable."),
        Column("variable_max", "number", "", "Greatest value of the variable."),
        Column(
            "verdict",
            "text",
            "",
            "`exact`, `confirmed`, `refuted`, `inconclusive` or `not tested`.",
        ),
        REASON,
        _EXACT,
        Column("excess_power", "whole", "", "Power of the term that must not be there."),
        Column("excess_share", "number", "", "Its share of the response at the largest size."),
        Column("excess_low", "number", "", "Lower end of that share's interval."),
        Column("excess_high", "number", "", "Upper end of that share's interval."),
        Column("margin", "number", "", "Largest share that counts as none."),
        Column("equivalence_p", "number", "", "P-value: small where the share is within the margin."),
        Column("beyond_margin_p", "number", "", "P-value: small where the share is beyond it."),
        Column("leading_share", "number", "", "Share of the expected leading term."),
        Column("leading_low", "number", "", "Lower end of that share's interval."),
        Column("leading_high", "number", "", "Upper end of that share's interval."),
        Column("misfit_parts", "whole", "", "Parts of the range in which the mean deviation was tested, or 0."),
        Column("misfit_deviation", "number", "", "Mean deviation from the fit in the part where it may be largest."),
        Column("misfit_low", "number", "", "Lower end of that deviation's interval."),
        Column("misfit_high", "number", "", "Upper end of that deviation's interval."),
        Column("confirmation_p", "number", "", "The error of confirming: the largest p-value of the tests it needs."),
        _QUADRATIC_P,
        _PUBLISHED_P,
        _R_SQUARED,
        _DEVIATION,
        Column("max_deviation_layer", "text", "", "Layer that deviates most."),
        Column("exponent", "number", "", "Fitted exponent."),
        Column("exponent_low", "number", "", "Lower end of its 95 % interval."),
        Column("exponent_high", "number", "", "Upper end of its 95 % interval."),
        Column("exponent_expected", "number", "", "Exponent that theory expects."),
        Column("exponent_agrees", "text", "", "`yes`, `no` or `undecided`."),
        Column("best_form", "text", "", "Form with the least AICc."),
        Column("best_form_weight", "number", "", "Its Akaike weight."),
        Column("forms", "text", "", "AICc differences of all forms to the best."),
        Column("reset_p", "number", "", "P-value of RESET: small where the form bends."),
        Column("rainbow_p", "number", "", "P-value of the Rainbow test: small where the centre follows another curve."),
        Column("breusch_pagan_p", "number", "", "P-value of Breusch–Pagan: small where scatter depends on size."),
        Column("durbin_watson", "number", "", "Durbin–Watson statistic over increasing size."),
        Column("durbin_watson_p", "number", "", "Its p-value: small where neighbours deviate alike, or alternate."),
        Column("cook_max", "number", "", "Largest Cook's distance."),
        Column("cook_layer", "text", "", "Layer with the largest Cook's distance."),
        Column("influential_points", "whole", "layers", "Layers with a distance above the median of F(p, n − p)."),
        Column("table_version", "whole", "", "Version of the table of energies."),
        Column("divisibility_correlation", "number", "", "Spearman correlation of residuals and index factorisations."),
        Column("divisibility_p", "number", "", "Its p-value."),
        Column("envelope_n", "whole", "layers", "Layers on the lower envelope."),
        Column("envelope_verdict", "text", "", "Verdict on those layers alone."),
        Column("envelope_exponent", "number", "", "Exponent of those layers alone."),
        Column("theory_<side>_crossed", "whole", "layers", "Layers on the wrong side of that bound."),
        Column(
            "theory_<side>_ratio_<statistic>",
            "number",
            "",
            "Measured over that bound.",
        ),
        Column("<test>_p_holm", "number", "", "That p-value, corrected by Holm over all rows of the table."),
    ),
)

RESIDUALS = Layout(
    "residuals",
    "One layer behind a fit.",
    (
        *_KEY,
        LAYER,
        Column("variable", "number", "", "Value of the sweep's variable."),
        Column("measured", "number", "unit of the response", "The response."),
        Column("fitted", "number", "unit of the response", "The fit."),
        Column("relative_residual", "number", "", "Measured less fitted, relative to fitted."),
        Column("divisors", "whole", "", "Divisors of the sizes that vary, multiplied."),
        Column("factorisations", "whole", "", "Index factorisations of the sizes that vary, multiplied."),
        Column("on_lower_envelope", "truth", "", "Whether it is the cheapest layer for its size."),
    ),
)

LEFT_OUT = Layout("left_out", "One layer that was not tested.", (*_KEY, LAYER, STATUS, REASON))
