package cli

const countingHelp = "entropy counting numbers: convex, trw, bethe, or a file with lines \"node i c\" and \"edge e c\""
