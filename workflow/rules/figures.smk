# One rule a kind of figure; what there is and what it is drawn from says jouleloop/report/registry.py.


localrules:
    figures,


rule figures:
    input:
        PLAN.figure_files(),


for kind in PLAN.figure_kinds():

    rule:
        name:
            f"{kind.name}_figures"
        input:
            PLAN.figure_inputs(kind),
        output:
            figures(kind),
        log:
            f"results/logs/{kind.name}_figures.log",
        conda:
            "../envs/jouleloop.yaml"
        params:
            kind=kind.name,
            caption=PLAN.caption(kind),
            statistics=PLAN.statistics,
        message:
            f"Drawing all figures of the kind {kind.name}"
        script:
            "../../analysis/draw_figures.py"
