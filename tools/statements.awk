# Reads C and calls mentioned() for each name of a function in it, so that a check is not misled by how lines are broken, by
# macros or by pointers. Comments and the contents of strings are left out. The program that includes this file defines
#
#   mentioned(name, line, text): `name` occurs as a call, as a value or in a macro, but not as a member (x.name, x->name),
#   a tag (struct name) or what a declaration declares (int name). The pasting operator ## is a name as well. stack[1..depth]
#   are the names of the calls, outermost first, in whose arguments the name is; "" is a pair of parentheses that belongs to
#   no call. `line` is the line of the name, and `text` its statement from the start to the end of that line.
#   statement_ends(text, line): a statement has ended at a ; { or } outside parentheses, which is the last character of
#   `text`. `line` is the first line of the statement.

FNR == 1 { end_statement(); depth = 0; in_comment = 0 }
/^}/ { depth = 0 } # a branch of the preprocessor may have left parentheses open
{
    in_macro = /^[ \t]*#[ \t]*define/ || (in_macro && goes_on)
    goes_on = /\\$/
    if (!/^[ \t]*#[ \t]*include/)
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

function scan(rest,    token) {
    while (rest != "") {
        if (in_comment) {
            if (!match(rest, /\*\//))
                return
            rest = substr(rest, RSTART + 2)
            in_comment = 0
            continue
        }
        if (!match(rest, /"([^"\\]|\\.)*"|'([^'\\]|\\.)+'|\/\*|\/\/|##|[A-Za-z_][A-Za-z0-9_]*|->|[^ \t]/))
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

# A name and the parenthesis after it may be on two lines: `word` is the last name.
function handle_token(token, rest) {
    if (token ~ /^([A-Za-z_]|##)/) {
        word = token
        if (last != "." && last != "->" && (in_macro || rest ~ /^[ \t]*\(/ || !declares(last)))
            mentioned(token, FNR, statement rest)
    } else if (token == "(") {
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

# Whether a name declares the name that follows it.
function declares(word) {
    return word ~ /^[A-Za-z_]/ && word !~ /^(return|else|do|case|sizeof)$/
}
