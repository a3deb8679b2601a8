# Theory of papers 000/001 (convolutions): volumes beside the bounds, exponents, executions, figures.


THEORY_CONV_TABLES = ["memory", "processors", "crossings", "exponents", "executed"]
THEORY_CONV_FIGURES = ["memory", "processors"]


rule theory_conv_table:
    output:
        table="results/theory/conv/{table}.csv",
    log:
        "results/logs/theory_conv_table_{table}.log",
    wildcard_constraints:
        table="|".join(THEORY_CONV_TABLES),
    conda:
        "../envs/jouleloop.yaml"
    params:
        table="{table}",
    script:
        "../scripts/theory_conv_table.py"


rule theory_conv_figure:
    input:
        table="results/theory/conv/{figure}.csv",
    output:
        figure="results/theory/conv/{figure}.svg",
    log:
        "results/logs/theory_conv_figure_{figure}.log",
    wildcard_constraints:
        figure="|".join(THEORY_CONV_FIGURES),
    conda:
        "../envs/jouleloop.yaml"
    params:
        figure="{figure}",
    script:
        "../scripts/theory_conv_figure.py"


rule theory_conv:
    input:
        expand("results/theory/conv/{table}.csv", table=THEORY_CONV_TABLES),
        expand("results/theory/conv/{figure}.svg", figure=THEORY_CONV_FIGURES),
