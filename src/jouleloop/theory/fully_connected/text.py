"""A run of a fully-connected layer as text for the terminal."""

from jouleloop.theory.fully_connected.schedule import Run


def draw_text(run: Run) -> str:
    """Return the reads and, like 002 Figures 2 and 3, the matrix of pairs with the time t at which each first meets.

    Rows are outputs, columns inputs. A time is marked ``-`` where an input read made the pair (a horizontal arrow in
    the figures) and ``|`` where an output read did (a vertical arrow).
    """
    schedule = run.schedule
    n, m = schedule.inputs, schedule.outputs
    when: dict[tuple[int, int], str] = {}
    for step in run.steps:
        mark = "-" if step.read.vertex.side == "x" else "|"
        for pair in step.new_pairs:
            when[pair] = f"{step.time}{mark}"
    width = max(len(str(len(run.steps))) + 1, len(f"x{n}"))
    label = len(f"y{m}")
    lines = [
        f"{schedule.title}: n = {n}, m = {m}, β = {schedule.buffer_words}",
        f"μ = {run.output_reads}, ν = {run.input_reads}, p = {run.reads}, 2μ + ν = {run.accesses}",
        f"most inputs in Buffer {run.largest_inputs}, most outputs {run.largest_outputs}",
        "",
        " " * label + " " + " ".join(f"x{i}".rjust(width) for i in range(1, n + 1)),
    ]
    lines += [
        f"y{j}".rjust(label) + " " + " ".join(when[i, j].rjust(width) for i in range(1, n + 1)) for j in range(1, m + 1)
    ]
    lines += ["", "t: read (> what it overwrites) = Buffer afterwards"]
    time_width = len(str(len(run.steps)))
    read_width = max(len(str(step.read)) for step in run.steps)
    for step in run.steps:
        contents = " ".join(str(v) for v in sorted(step.contents))
        lines.append(f"{step.time:>{time_width}}: {step.read!s:<{read_width}} = {contents}")
    return "\n".join(lines)
