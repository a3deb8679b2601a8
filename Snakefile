from snakemake.utils import min_version

min_version("9.5")


configfile: "config/config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"


onstart:
    checked(
        lambda: PLAN.begin(workflow.overwrite_configfiles, searches=searches_here())
    )


onsuccess:
    PLAN.end()


onerror:
    PLAN.end()


localrules:
    all,


rule all:
    input:
        PLAN.targets,
    message:
        "Everything is in results/"


include: "workflow/rules/map.smk"
include: "workflow/rules/timeloop.smk"
include: "workflow/rules/crosscheck.smk"
include: "workflow/rules/analyse.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/theory.smk"
