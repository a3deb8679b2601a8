# The workflow is in workflow/Snakefile. What is included supplies no default target, so it is named here.
include: "workflow/Snakefile"


localrules:
    default,


rule default:
    default_target: True
    input:
        rules.all.input,
    message:
        "Everything is in results/"
