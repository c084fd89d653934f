"""What all benchmarks and all scripts of papers share.

    datasets    corpora in three disjoint parts          vectors     rows of numbers, and their evaluator
    stopwatch   seconds of training, and of passes       curve       score against seconds
    methods     one file per library that is compared    evaluate    scores and descriptions of topics
    runs        a method run in its own process          memory      the peak of resident memory
    machine     processor, versions, commit              results     one JSON row per result
    arguments   the options that all scripts have        drawing     the style of all figures
    jobs        a piece of work in its own process       runner      many of them, until a deadline
    engines     engines that look at a fit from inside   internals   what uses private parts of topmix
    synthetic   corpora of a paper                       textbook_gibbs   a plain sampler to compare with

`methods/ours.py` is the only file that constructs estimators of topmix.
"""
