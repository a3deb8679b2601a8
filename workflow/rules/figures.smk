# The figures that not every run draws; what there is and what it is drawn from says jouleloop/report/registry.py.
# Files that show the same already are left as they are.


localrules:
    figures,


rule figures:
    input:
        PLAN.figure_files(),


rule further_figures:
    input:
        PLAN.figure_inputs(PLAN.drawn(always=False)),
    output:
        figures(PLAN.drawn(always=False)),
    log:
        "results/logs/further_figures.log",
    conda:
        "../envs/jouleloop.yaml"
    threads: PLAN.figure_threads(workflow.resource_settings.cores)
    params:
        captions=PLAN.captions(PLAN.drawn(always=False)),
        statistics=PLAN.statistics,
    message:
        "Drawing further figures"
    script:
        "../../analysis/draw_figures.py"
