# Prints FILE:LINE:TEXT for each mention of a name that no row allows, and FILE: TEXT for each mention that a row allows and the
# file does not have. Runs after tools/statements.awk. Variables:
#
#   names: a regular expression of whole names
#   rows: lines of FILE NAME[:COUNT]...; each allows the file COUNT mentions of the name, or one
#
# A name could also be made of parts (##), or given in a string (asm, dlsym). Only the prefixes below may be pasted: no name that
# a check knows begins with one of them.

BEGIN {
    names = "^(" names "|##|asm|__asm|__asm__|dlv?sym)$"
    n_lines = split(rows, lines, "\n")
    for (i = 1; i <= n_lines; i++) {
        n_words = split(lines[i], words, " ")
        for (k = 2; k <= n_words; k++) {
            split(words[k], word_count, ":")
            allowed[words[1] " " word_count[1]] = word_count[2] ? word_count[2] : 1
        }
    }
}

FNR == 1 { is_read[relative(FILENAME)] }

function relative(path) {
    sub(/^\.\//, "", path)
    return path
}

function statement_ends(text, line) {}

function mentioned(name, line, text,    row) {
    if (!(name in is_one))
        is_one[name] = name ~ names
    row = relative(FILENAME) " " name
    if (is_one[name] && !(name == "##" && last ~ /^(cap|n|read)_$/) && ++seen[row] > (row in allowed ? allowed[row] : 0))
        print FILENAME ":" line ":" text
}

END {
    for (row in allowed) {
        split(row, words, " ")
        if ((words[1] in is_read) && seen[row] < allowed[row])
            print words[1] ": the row allows " allowed[row] " of " words[2] ", the file has " seen[row] + 0
    }
}
