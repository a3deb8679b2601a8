"""The columns of every table that a study makes: type, unit and meaning; docs/tables.md is generated from them."""

from jouleloop.layouts import Column, Layout
from jouleloop.stats.columns import (
    ARCHITECTURE,
    ENERGY_TABLE,
    ENGINE,
    FITS,
    LAYER,
    LEFT_OUT,
    REASON,
    RESIDUALS,
    RESPONSE,
    STATUS,
    SWEEP,
    VERDICTS,
)

_POINT = (ARCHITECTURE, SWEEP, LAYER)
_SIZES = (
    Column("kind", "text", "", "Kind of the layer; empty for a convolution. Missing where all are convolutions."),
    Column("N", "whole", "samples", "Batch; columns of B and Z in a matrix product."),
    Column("C", "whole", "channels", "Inputs n, or input channels of a group."),
    Column("M", "whole", "channels", "Outputs m, or output channels of a group; rows of A and Z in a matrix product."),
    Column("K", "whole", "elements", "Columns of A and rows of B in a matrix product."),
    Column("H", "whole", "heads", "Matrix products side by side."),
    Column("R", "whole", "elements", "Width of the filter."),
    Column("S", "whole", "elements", "Height of the filter."),
    Column("T", "whole", "elements", "Depth of the filter of a convolution with three axes."),
    Column("P", "whole", "elements", "Width of the output; of the input of a transposed convolution."),
    Column("Q", "whole", "elements", "Height of the output; of the input of a transposed convolution."),
    Column("O", "whole", "elements", "Depth of the output of a convolution with three axes."),
    Column("w_stride", "whole", "elements", "Stride along the width."),
    Column("h_stride", "whole", "elements", "Stride along the height."),
    Column("d_stride", "whole", "elements", "Stride along the depth."),
    Column("w_dilation", "whole", "elements", "Dilation along the width; only where a layer has one."),
    Column("h_dilation", "whole", "elements", "Dilation along the height; only where a layer has one."),
    Column("d_dilation", "whole", "elements", "Dilation along the depth; only where a layer has one."),
    Column("groups", "whole", "groups", "Groups of a convolution."),
    Column("input_size", "whole", "elements", "Width of the input as the sweep's file gives it; empty without."),
    Column("macs", "whole", "MAC", "Multiply-accumulates."),
    Column("count", "whole", "runs", "How often a network runs the layer."),
)
_OWN_SIZE = Column("<size>", "any", "", "Size of a layer whose shape is the user's own.")
_VARIANT = (
    Column("variant", "text", "", "What the variant of the architecture changes; empty for the file as it is."),
    Column("<node>.<attribute>", "any", "unit of the attribute", "Value of an attribute that a sweep varies."),
)
_BUFFER = Column("buffer_words", "whole", "words", "β: words on the chip that inputs and outputs have.")
_TOTAL = Column("total_pj", "number", "pJ", "Energy of the layer.")
_DATA = Column("data_pj", "number", "pJ", "Energy of all storage levels.")
_COMPUTE = Column("compute_pj", "number", "pJ", "Energy of all multiply-accumulates.")
_SPACE = Column(
    "<level>_<data space>_pj",
    "number",
    "pJ",
    "Energy of a data space on a level, or in <level>_network below it; empty without.",
)
_DRAM = Column("dram_words_<data space>", "whole", "words", "Words moved from and to DRAM.")
_CYCLES = Column("cycles", "whole", "cycles", "Cycles of the layer.")
_OPTIMAL = Column("optimal", "truth", "", "Whether no mapping costs less: proven.")
_LOWER = Column("lower_bound_pj", "number", "pJ", "Proven lower bound on the energy of any mapping.")
_ESTIMATOR = Column("estimator", "text", "", "What the energies per action come from.")
_AREA = Column("area_um2", "number", "um2", "Area of all instances; empty where that of a component is not known.")
_VARIABLE = Column("variable", "number", "", "Value of the sweep's variable.")
_LAW = Column("law", "text", "", "Name of the law.")

_RESULT = (
    STATUS,
    REASON,
    _TOTAL,
    _DATA,
    _COMPUTE,
    _LOWER,
    _DRAM,
    _CYCLES,
    Column("utilization", "number", "", "Share of the compute units that are busy."),
    Column("mapping", "text", "", "The mapping in one line; empty without one."),
    Column("kept", "text", "", "What the mapping keeps on each level.", exported=False),
    _OPTIMAL,
    Column("gap", "number", "", "How far what was minimised can be above the optimum, relatively."),
    Column(
        "stopped", "text", "", "What ended the search early: `budget` or `seconds`; empty where it ended by itself."
    ),
    Column("mapspace_size", "number", "mappings", "Mappings in the mapspace, as a float."),
    Column("visited", "whole", "mappings", "Mappings that the search evaluated."),
    ENGINE,
    ENERGY_TABLE,
    _ESTIMATOR,
    _AREA,
    Column("objective", "text", "", "What was minimised, in turn."),
    Column("semantics", "text", "", "Rules of counting."),
    Column("constraints", "text", "", "Set of constraints."),
    Column("key", "text", "", "Key of the result in the store.", exported=False),
)

ENERGIES = Layout(
    "energies", "One layer on one architecture.", (*_POINT, *_SIZES, *_VARIANT, *_RESULT, _SPACE, _OWN_SIZE)
)
SEARCH_NOISE_ENERGIES = Layout("search_noise_energies", "One layer, searched by the 0.1 % rule.", ENERGIES.columns)
LAYERS = Layout("layers/<sweep>", "One layer of a sweep.", (SWEEP, LAYER, *_SIZES, *_VARIANT, _OWN_SIZE))
TIMINGS = Layout(
    "timings",
    "One result; differs from run to run.",
    (
        ARCHITECTURE,
        LAYER,
        Column("seconds", "number", "s", "Time of the search, whenever that was."),
        Column("key", "text", "", "Key of the result in the store."),
        *_VARIANT,
    ),
)
ENERGY_SOURCES = Layout(
    "energy_sources",
    "One action of a component.",
    (
        ARCHITECTURE,
        *_VARIANT,
        Column("component", "text", "", "Level, or the compute unit."),
        Column("action", "text", "", "Action."),
        Column("energy_pj", "number", "pJ", "Energy per action."),
        _ESTIMATOR,
        Column("source", "text", "", "Where the estimator has it from."),
    ),
)

THEORY_RATIO = Layout(
    "theory_ratio",
    "One fully-connected layer beside the bounds of paper 002.",
    (
        *_POINT,
        _VARIANT[0],
        *_SIZES,
        STATUS,
        _TOTAL,
        _DATA,
        _DRAM,
        _BUFFER,
        Column("measured_words", "whole", "words", "DRAM words of the cheapest mapping."),
        Column(
            "measured_words_with_biases", "whole", "words", "The same with a read for every bias, as counted there."
        ),
        Column(
            "trivial_lower_words",
            "whole",
            "words",
            "Inputs and weights once, outputs twice.",
        ),
        Column("general_lower_words", "number", "words", "Equation (20)."),
        Column("general_lower_assumptions_hold", "truth", "", "Whether the assumptions of equation (20) hold."),
        Column("pair_count_lower_words", "whole", "words", "At most β − 1 new pairs a read."),
        Column("lower_words", "number", "words", "The largest lower bound that holds."),
        Column("upper_words", "whole", "words", "The cheapest dataflow known."),
        Column("eq_28_words", "number", "words", "Equation (28); empty where inputs or outputs fit on the chip."),
        Column("partitioned_words", "number", "words", "Equations (41), (44): least of a buffer split once for all."),
        Column("lower_energy_pj", "number", "pJ", "The lower bound in energy of DRAM."),
        Column("upper_energy_pj", "number", "pJ", "The upper bound in energy of DRAM."),
        Column("ratio_to_lower", "number", "", "Measured with biases over the lower bound."),
        Column("ratio_to_upper", "number", "", "Measured with biases over the upper bound."),
        Column("theory_lower_dram_words", "number", "words", "Lower bound that the statistics compare with."),
        Column("theory_upper_dram_words", "whole", "words", "Upper bound that the statistics compare with."),
        Column("theory_measured_dram_words", "whole", "words", "What the statistics compare: measured with biases."),
        Column("theory_lower_data_pj", "number", "pJ", "Lower bound on the energy of all storage: DRAM's part."),
    ),
)

BUFFER_GROWTH = Layout(
    "buffer_growth",
    "One buffer of a sweep of an architecture: do its DRAM words and its energy grow linearly?",
    (
        ARCHITECTURE,
        SWEEP,
        _VARIANT[0],
        _BUFFER,
        Column("layers", "whole", "layers", "Fully-connected layers with a mapping."),
        Column("resident_layers", "whole", "layers", "Those whose inputs or outputs fit on the chip."),
        Column("streaming_layers", "whole", "layers", "Those where mn/(β - 1) > n + 2m: words moved again lead."),
        Column("grown", "text", "", "What grows: inputs, outputs (the other at its most frequent size), or mn."),
        Column("points", "whole", "layers", "Layers of this series."),
        RESPONSE,
        Column("verdict", "text", "", "Verdict on linear growth, as in `verdicts`."),
        Column("reason", "text", "", "The rule that decided."),
        Column("r_squared", "number", "", "Of the line."),
        Column("largest_deviation", "number", "", "Largest deviation from the line, as a share of it."),
        Column("lower_ratio_max", "number", "", "Largest ratio of measured DRAM words to the lower bound."),
        Column("eq_28_ratio_min", "number", "", "Least ratio of measured DRAM words to equation (28)."),
        Column("eq_28_ratio_max", "number", "", "Largest ratio of measured DRAM words to equation (28)."),
        Column("partitioned_ratio_min", "number", "", "Least ratio to equations (41), (44)."),
        Column("partitioned_ratio_max", "number", "", "Largest ratio to equations (41), (44)."),
    ),
)

LAWS = Layout(
    "laws",
    "One law that layers of a sweep obey on an architecture.",
    (
        ARCHITECTURE,
        SWEEP,
        _LAW,
        Column("points", "whole", "layers", "Layers that obey it."),
        Column("formula_data", "text", "", "Energy of all storage as a formula."),
        Column("formula_total", "text", "", "Energy of the layer as a formula."),
        Column("divisibility", "text", "", "What must divide the sizes for the structure of the example."),
        Column("structure", "text", "", "The example's mapping with its growing loops."),
        Column("structures", "whole", "", "Structures that share the law."),
        Column("example_layer", "text", "", "A layer that obeys it."),
        Column("example_mapping", "text", "", "Its mapping."),
        Column("<size>_min", "whole", "elements", "Least size of these layers."),
        Column("<size>_max", "whole", "elements", "Greatest size of these layers."),
        Column("data_<monomial>_pj", "number", "pJ", "Coefficient of the storage energy."),
        Column("compute_<monomial>_pj", "number", "pJ", "Coefficient of the compute energy."),
    ),
)
LAW_POINTS = Layout(
    "law_points",
    "One layer and the law it obeys.",
    (
        *_POINT,
        _VARIABLE,
        _LAW,
        Column("growing", "text", "", "Loops that grow with the layer."),
        _DATA,
        Column("law_data_pj", "number", "pJ", "The same by the law."),
        _TOTAL,
        Column("law_total_pj", "number", "pJ", "The same by the law."),
        Column("partial_vectors_pj", "number", "pJ", "Part of both for vectors that are not full."),
        Column("relative_error", "number", "", "Deviation of the law's total."),
        Column("common_law", "text", "", "The architecture's most common law."),
        Column("common_law_data_pj", "number", "pJ", "What that one would give."),
        Column("<size>_size", "whole", "elements", "A size that the law is in."),
    ),
)
LAW_TERMS = Layout(
    "law_terms",
    "One term of a law.",
    (
        ARCHITECTURE,
        _LAW,
        Column("level", "text", "", "Level, or the compute unit."),
        Column("data_space", "text", "", "Data space."),
        Column("action", "text", "", "`read`, `write` or `compute`."),
        Column("monomial", "text", "", "What it is multiplied with."),
        Column("accesses", "text", "", "Accesses as an exact fraction."),
        Column("access_pj", "number", "pJ", "Energy per access."),
        Column("coefficient_pj", "number", "pJ", "Their product."),
    ),
)

SEARCH_NOISE = Layout(
    "search_noise",
    "One verdict on proven optima beside that of a search within 0.1 %.",
    (
        SWEEP,
        ARCHITECTURE,
        RESPONSE,
        Column("published_p", "number", "", "The p-value that paper 002 prints."),
        Column("verdict_moved", "truth", "", "Whether the verdicts differ."),
        Column("layers", "whole", "layers", "Layers compared."),
        Column("layers_missed", "whole", "layers", "Layers above their optimum."),
        Column("excess_median", "number", "", "Median share by which energies lie above the optimum."),
        Column("excess_max", "number", "", "Greatest share by which one does."),
        Column("verdict_<search>", "text", "", "Verdict by the search: proven or heuristic."),
        Column("<statistic>_proven", "number", "", "On proven optima."),
        Column("<statistic>_heuristic", "number", "", "By the 0.1 % rule."),
    ),
)

NETWORKS = Layout(
    "networks",
    "One layer of a network, or the whole of it; where layers have no mapping, the others together.",
    (
        ARCHITECTURE,
        Column("network", "text", "", "Network."),
        LAYER,
        Column("count", "whole", "runs", "How often the network runs the layer."),
        STATUS,
        Column("macs", "whole", "MAC", "Multiply-accumulates."),
        _CYCLES,
        _OPTIMAL,
        Column("gap", "number", "", "How far the energy can be above the optimum, relatively."),
        Column(
            "theory_lower_pj",
            "number",
            "pJ",
            "Theory's lower bound: operations, and DRAM words that must move.",
        ),
        Column("theory_ratio", "number", "", "Energy over theory's lower bound."),
        _LOWER,
        _TOTAL,
        _DATA,
        _COMPUTE,
        _DRAM,
        _SPACE,
    ),
)

VARIANTS = Layout(
    "architecture/<sweep>",
    "One layer on one variant of an architecture.",
    (
        ARCHITECTURE,
        LAYER,
        *_VARIANT,
        Column("macs", "whole", "MAC", "Multiply-accumulates."),
        STATUS,
        REASON,
        _TOTAL,
        _DATA,
        _CYCLES,
        Column("utilization", "number", "", "Share of the compute units that are busy."),
        _ESTIMATOR,
        _AREA,
        Column(
            "energy_delay_area", "number", "pJ cycles um2", "Energy times cycles times area; empty without an area."
        ),
        Column("pj_per_mac", "number", "pJ", "Energy per multiply-accumulate."),
        Column("best", "truth", "", "Whether it is the least of all variants."),
    ),
)

_OURS_IS = Column("ours_is", "text", "", "`equal`, `below`, `above` or `no mapping`.")
_SET = Column("set", "text", "", "Set of constraints of the published run.")
PUBLISHED = Layout(
    "published",
    "One published energy beside ours.",
    (
        ARCHITECTURE,
        SWEEP,
        Column("parameter", "any", "", "Value that the published table is listed by."),
        Column("ratio", "number", "", "Ours over published."),
        _OURS_IS,
        _OPTIMAL,
        _SET,
        Column("published_<part>_pj", "number", "pJ", "Published energy: whole, compute, data."),
        Column("published_pj", "number", "pJ", "Published energy."),
        Column("ours_<part>_pj", "number", "pJ", "Ours: a part, under a set of constraints, or as printed."),
        Column("ours_pj", "number", "pJ", "Our energy."),
        Column("ratio_<set>", "number", "", "Ours over published under a set of constraints."),
    ),
)
PUBLISHED_PART = Layout("published/<architecture>", "The same of one architecture.", PUBLISHED.columns)
PUBLISHED_SUMMARY = Layout(
    "published_summary",
    "Points of one sweep, or of all.",
    (
        ARCHITECTURE,
        SWEEP,
        _SET,
        Column("points", "whole", "layers", "Points compared."),
        Column("ours_<outcome>", "whole", "layers", "Points at which ours is equal, below, above."),
        Column("least_ratio", "number", "", "Least ratio of ours to published."),
        Column("greatest_ratio", "number", "", "Greatest ratio of ours to published."),
        Column("optimal", "whole", "layers", "Points proven optimal."),
    ),
)

_AGREEMENT = (
    Column("fields", "whole", "", "Numbers compared."),
    Column("largest_difference", "number", "", "Largest relative difference."),
    Column("largest_at", "text", "", "Where it is."),
)
CROSSCHECK = Layout(
    "crosscheck",
    "One layer, counted by two engines.",
    (
        *_POINT,
        *_SIZES,
        *_VARIANT,
        Column("status", "text", "", "`equal`, `different`, `not_confirmed` or `no_optimum`."),
        REASON,
        Column("ours_<quantity>", "any", "unit of the quantity", "Our energy [pJ], cycles, utilization."),
        Column("theirs_<quantity>", "any", "unit of the quantity", "The other engine's."),
        *_AGREEMENT,
        Column("fields_equal", "whole", "", "Numbers that are equal."),
        Column("<quantity>_is", "text", "", "How ours stands to the other's: `equal`, `lower`, `higher`, `mixed`."),
        Column("confirmed_by", "text", "", "The other engine."),
        Column("semantics", "text", "", "Rules of counting."),
        Column("mapping", "text", "", "The mapping in one line."),
    ),
)
CROSSCHECK_SUMMARY = Layout(
    "crosscheck_summary",
    "One quantity of the layers of a sweep.",
    (
        ARCHITECTURE,
        SWEEP,
        Column("quantity", "text", "", "Quantity."),
        Column("points", "whole", "layers", "Layers compared."),
        Column("points_without", "whole", "layers", "Layers that one engine has no result for."),
        *_AGREEMENT,
        Column("equal", "whole", "", "Numbers that are equal."),
        Column("lower", "whole", "", "Numbers of which ours is lower."),
        Column("higher", "whole", "", "Numbers of which ours is higher."),
        Column("only_one_has", "whole", "", "Numbers that only one engine has."),
        Column("ours", "number", "unit of the quantity", "Our value where the difference is largest."),
        Column("theirs", "number", "unit of the quantity", "The other engine's."),
    ),
)

THEORY_CONV_ENERGY = Layout(
    "theory_conv_energy",
    "One convolution beside the theory of its energy.",
    (
        *_POINT,
        *_SIZES,
        _TOTAL,
        _DATA,
        Column("dram_words", "whole", "words", "Words moved from and to DRAM."),
        Column("dram_pj", "number", "pJ", "Energy of DRAM."),
        Column("word_bits", "whole", "bits", "Width of a word."),
        Column("theory_macs", "whole", "MAC", "Multiply-accumulates of the model."),
        Column("theory_computation_pj", "number", "pJ", "C_b times the multiply-accumulates; empty for other widths."),
        Column("theory_lower_bound_words", "number", "words", "Lower bound of any dataflow, without biases."),
        Column("theory_<dataflow>_words", "whole", "words", "Words of a dataflow; empty where not one map fits."),
        _BUFFER,
        Column("dram_pj_per_word", "number", "pJ", "Energy of a word from or to DRAM."),
        Column("ratio_to_lower_bound", "number", "", "Measured over the lower bound."),
        Column("ratio_to_dataflow", "number", "", "Measured over the cheaper dataflow that fits."),
        Column("published_macs", "whole", "MAC", "Published multiply-accumulates."),
        Column("published_words", "whole", "words", "Published words."),
    ),
)

LAYOUTS = (
    *(ENERGIES, TIMINGS, ENERGY_SOURCES, LAYERS, FITS, VERDICTS, RESIDUALS, LEFT_OUT, THEORY_RATIO),
    *(BUFFER_GROWTH, LAWS, LAW_POINTS, LAW_TERMS, SEARCH_NOISE, SEARCH_NOISE_ENERGIES, NETWORKS, VARIANTS),
    *(PUBLISHED, PUBLISHED_PART, PUBLISHED_SUMMARY, CROSSCHECK, CROSSCHECK_SUMMARY, THEORY_CONV_ENERGY),
)

#: For tables of which only the name of their columns is known: every column that means one thing wherever it stands.
ANY = Layout(
    "<table>",
    "Any table.",
    tuple(
        {
            column.name: column
            for layout in LAYOUTS
            for column in layout.columns
            if not column.is_family and column.name not in {"variable", "optimal"}
        }.values()
    ),
    open=True,
)
