# Reads C and calls found() for each call in it, so that a check is not misled by how lines are broken. Comments and the
# contents of strings are left out. The program that includes this file defines
#
#   found(name, line, text): the function `name` is called. stack[1..depth] are the names of the calls, outermost first,
#   in whose arguments the call is; "" is a pair of parentheses that belongs to no call. `line` is the line of the call,
#   and `text` its statement from the start to the end of that line.
#   statement_ends(text, line): a statement has ended at a ; { or } outside parentheses, which is the last character of
#   `text`. `line` is the first line of the statement.

FNR == 1 { end_statement(); depth = 0; in_comment = 0 }
/^}/ { depth = 0 } # a branch of the preprocessor may have left parentheses open
{
    scan($0)
    if ($0 ~ /^[ \t]*#/ && $0 !~ /\\$/) {
        end_statement()
        depth = 0
    }
}
END { end_statement() }

function append_text(piece) {
    if (statement == "") {
        sub(/^[ \t]+/, "", piece)
        if (piece == "")
            return
        first = FNR
    }
    statement = statement piece
}

function end_statement() {
    if (statement != "") {
        gsub(/[ \t]+/, " ", statement)
        statement_ends(statement, first)
    }
    statement = ""
    word = ""
}

# A name and the parenthesis after it may be on two lines: `word` is the last name, `before` the text before it.
function scan(rest,    token) {
    while (rest != "") {
        if (in_comment) {
            if (!match(rest, /\*\//))
                return
            rest = substr(rest, RSTART + 2)
            in_comment = 0
            continue
        }
        if (!match(rest, /"([^"\\]|\\.)*"|'([^'\\]|\\.)+'|\/\*|\/\/|[A-Za-z_][A-Za-z0-9_]*|->|[^ \t]/))
            break
        token = substr(rest, RSTART, RLENGTH)
        if (token == "//")
            break
        if (token == "/*") {
            append_text(substr(rest, 1, RSTART - 1))
            in_comment = 1
        } else {
            append_text(substr(rest, 1, RSTART - 1) (token ~ /^"/ ? "\"\"" : token))
        }
        rest = substr(rest, RSTART + RLENGTH)
        if (token != "/*")
            handle_token(token, rest)
    }
    append_text(" ")
}

function handle_token(token, rest) {
    if (token ~ /^[A-Za-z_]/) {
        before = last
        word = token
        word_line = FNR
    } else if (token == "(") {
        if (word != "" && before != "." && before != "->")
            found(word, word_line, statement rest)
        stack[++depth] = word ~ /^(if|while|for|switch|return|sizeof)$/ ? "" : word
        word = ""
    } else {
        if (token == ")" && depth > 0)
            depth--
        if (token ~ /^[;{}]$/ && depth == 0)
            end_statement()
        word = ""
    }
    last = token
}
