package main

import (
	"bytes"
	"fmt"
	"strings"
)

// operationFile returns the source of one method for each operation, and of an iterator for each list with pages.
func (c *contract) operationFile() ([]byte, error) {
	var b bytes.Buffer
	for _, op := range c.operations {
		if err := c.writeOperation(&b, op); err != nil {
			return nil, fmt.Errorf("%s: %w", op.id, err)
		}
	}
	return formatted(&b, "context", "io", "iter", "net/url")
}

func (c *contract) writeOperation(b *bytes.Buffer, op operation) error {
	name := exported(op.id)
	arguments := "ctx context.Context"
	for _, a := range op.arguments {
		arguments += ", " + unexported(a) + " string"
	}
	request := fmt.Sprintf("request{method: %q, path: %s", op.method, pathExpression(op))
	if len(op.query) > 0 {
		if err := c.writeQuery(b, op); err != nil {
			return err
		}
		arguments += ", params " + name + "Params"
		request += ", query: params.values()"
	}
	if op.body != "" {
		arguments += ", body " + exported(op.body)
		request += ", body: body"
	}
	if op.keyed {
		request += ", keyed: true"
	}
	request += "}"
	fmt.Fprintf(b, "%s//\n// %s %s\n", comment(name+" calls the operation "+op.id+": "+op.summary+"."), op.method, op.path)
	if op.reply == "" {
		fmt.Fprintf(b, "func (c *Client) %s(%s) (io.ReadCloser, error) {\nreturn c.open(ctx, %s)\n}\n\n",
			name, arguments, request)
		return nil
	}
	fmt.Fprintf(b, "func (c *Client) %s(%s) (*%s, error) {\nreturn call[%s](ctx, c, %s)\n}\n\n",
		name, arguments, exported(op.reply), exported(op.reply), request)
	return c.writeIterator(b, op, arguments)
}

// pathExpression returns the path as a Go expression with escaped parameters.
func pathExpression(op operation) string {
	expression := `"` + op.path + `"`
	for _, a := range op.arguments {
		expression = strings.ReplaceAll(expression, "{"+a+"}", `" + url.PathEscape(`+unexported(a)+`) + "`)
	}
	return strings.TrimSuffix(expression, ` + ""`)
}

// writeQuery writes the type of the query parameters. A zero value is not sent.
func (c *contract) writeQuery(b *bytes.Buffer, op operation) error {
	name := exported(op.id) + "Params"
	fmt.Fprintf(b, "%stype %s struct {\n", comment(name+" are the query parameters of "+exported(op.id)+
		". A zero value is not sent."), name)
	var set strings.Builder
	for _, p := range op.query {
		goType, err := c.goType(p.schema)
		if err != nil {
			return err
		}
		setter, known := map[string]string{
			"string": "set", "int64": "setInt", "bool": "setBool",
		}[goType]
		if !known {
			return fmt.Errorf("the parameter %s has the type %s", p.name, goType)
		}
		fmt.Fprintf(b, "%s%s %s\n", comment(p.description), exported(p.name), goType)
		fmt.Fprintf(&set, "%s(q, %q, p.%s)\n", setter, p.name, exported(p.name))
	}
	fmt.Fprintf(b, "}\n\nfunc (p %s) values() url.Values {\nq := url.Values{}\n%sreturn q\n}\n\n", name, set.String())
	return nil
}

// writeIterator writes the iterator over all pages of a list.
func (c *contract) writeIterator(b *bytes.Buffer, op operation, arguments string) error {
	field, entry, ok := c.listOf(op)
	if !ok {
		return nil
	}
	item, err := c.goType(entry)
	if err != nil {
		return err
	}
	name := exported(op.id)
	doc := comment(name + "All iterates over the entries of all pages of " + name + ". It ends with the first error.")
	passed := ""
	for _, a := range op.arguments {
		passed += ", " + unexported(a)
	}
	fmt.Fprintf(b, `%sfunc (c *Client) %sAll(%s) iter.Seq2[%s, error] {
return pages(func(cursor string) ([]%s, string, error) {
params.Cursor = cursor
page, err := c.%s(ctx%s, params)
if err != nil {
return nil, "", err
}
return page.%s, page.NextCursor, nil
})
}

`, doc, name, arguments, item, item, name, passed, exported(field))
	return nil
}
