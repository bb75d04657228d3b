package store

import (
	"context"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// conditions builds the optional conditions of a query with their parameters. Its args start with the parameters of the
// fixed conditions.
type conditions struct {
	args args
	sql  strings.Builder
}

// param adds a parameter and returns its name.
func (c *conditions) param(value any) string {
	c.args = append(c.args, value)
	return "$" + strconv.Itoa(len(c.args))
}

// add adds a condition. $N stands for its first value, $M for the second.
func (c *conditions) add(condition string, values ...any) {
	for i, value := range values {
		condition = strings.ReplaceAll(condition, []string{"$N", "$M"}[i], c.param(value))
	}
	c.sql.WriteString(" AND " + condition)
}

// and returns the conditions, each after AND.
func (c *conditions) and() string { return c.sql.String() }

// contains returns the condition that a column contains a word, ignoring case. The databases fold the case of ASCII
// letters only, or that of other letters depending on the collation, so a word with others is looked for in lower case,
// in upper case and capitalized, too.
func (c *conditions) contains(word, column string) string {
	spellings := []string{word}
	if strings.ContainsFunc(word, func(r rune) bool { return r >= utf8.RuneSelf }) {
		lower := strings.ToLower(word)
		first, size := utf8.DecodeRuneInString(lower)
		spellings = append(spellings, lower, strings.ToUpper(word), string(unicode.ToTitle(first))+lower[size:])
	}
	parts := make([]string, len(spellings))
	for i, s := range spellings {
		p := c.param("%" + likeEscape.Replace(s) + "%")
		parts[i] = `lower(` + column + `) LIKE lower(` + p + `) ESCAPE '\' OR ` + column + ` LIKE ` + p + ` ESCAPE '\'`
	}
	return "(" + strings.Join(parts, " OR ") + ")"
}

// listed returns the texts in the only column of a query.
func listed(ctx context.Context, q querier, query string, a args) ([]string, error) {
	var value string
	list := []string{}
	err := q.each(ctx, query, a, []any{&value}, func() error {
		list = append(list, value)
		return nil
	})
	return list, err
}
