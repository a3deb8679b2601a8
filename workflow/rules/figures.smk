# Figures: one job draws those of one sweep or network. What there is and what it shows: jouleloop/report/registry.py.
# The job leaves files alone that show the same already, so the outputs are marked `update`.


localrules:
    figures,


rule figures:
    input:
        PLAN.figure_files(),


for _group in PLAN.figure_groups:

    rule:
        name:
            _group.name
        input:
            PLAN.figure_inputs(_group),
        output:
            figures(_group),
        log:
            f"results/logs/{_group.name}/{_group.pattern or _group.name}.log",
        wildcard_constraints:
            **PLAN.constraints(_group),
        group:
            "analysis"
        conda:
            "../envs/jouleloop.yaml"
        params:
            captions=PLAN.captions(_group),
            statistics=PLAN.statistics,
        message:
            f"Drawing {_group.shown}"
        script:
            "../../analysis/figures.py"
