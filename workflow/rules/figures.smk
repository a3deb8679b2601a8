# One rule for the figures of every run and one for all others; what there is and what it is drawn from says
# jouleloop/report/registry.py. Files that show the same already are left as they are.


localrules:
    figures,


rule figures:
    input:
        PLAN.figure_files(),


for _name, _kinds in PLAN.figure_jobs().items():

    rule:
        name:
            f"{_name}_figures"
        input:
            PLAN.figure_inputs(_kinds),
        output:
            figures(_kinds),
        log:
            f"results/logs/{_name}_figures.log",
        conda:
            "../envs/jouleloop.yaml"
        threads: PLAN.figure_threads(workflow.resource_settings.cores)
        params:
            captions=PLAN.captions(_kinds),
            statistics=PLAN.statistics,
        message:
            f"Drawing {_name} figures"
        script:
            "../../analysis/draw_figures.py"
