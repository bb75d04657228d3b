package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-faster/jx"

	"carrel/internal/core"
	"carrel/internal/httpapi/oas"
)

// MCPPath is the path of the MCP endpoint below the base URL. Its tokens are issued for this path.
const MCPPath = "/mcp"

// Arguments are the arguments of an operation by name: the parameters of its path and query and the members of its
// body. Unknown arguments are ignored, as in REST; see WithWarnings.
type Arguments map[string]json.RawMessage

// ParseArguments reads arguments from a JSON object. Empty input means no arguments.
func ParseArguments(object json.RawMessage) (Arguments, error) {
	args := Arguments{}
	if len(object) == 0 {
		return args, nil
	}
	if err := json.Unmarshal(object, &args); err != nil {
		return nil, core.InvalidField("/arguments", "Must be a JSON object.")
	}
	return args, nil
}

// invoker is a row of the generated table invokers.
type invoker struct {
	// path are the parameters in the path; required are all arguments that must be given.
	path, required []string
	// call decodes the arguments and calls the handler.
	call func(ctx context.Context, h handlers, in input) (any, error)
}

// Invoke carries out an operation for an actor whose credential another protocol has checked. It applies the rules of
// the REST API in the same order (access, arguments, operation) and calls the same handlers. The reply is of the type
// that the contract's code generator made for it, or a *File; EncodeReply encodes it. Errors are of type *core.Error.
//
// A call has no Idempotency-Key. Only operations that are MCP tools can be invoked.
func (a *API) Invoke(ctx context.Context, who core.Actor, op core.Operation, args Arguments) (any, error) {
	i, known := invokers[op]
	if !known {
		return nil, core.Internal(fmt.Errorf("operation %q cannot be invoked", op))
	}
	in := input{args: args, required: i.required, ids: make(map[string]string, len(i.path))}
	for _, name := range i.path {
		var id string
		if json.Unmarshal(args[name], &id) != nil || id == "" {
			return nil, core.InvalidField("/"+name, "Is required, and must be a text.")
		}
		in.ids[name] = id
	}
	ctx, err := a.allowOnce(core.WithActor(ctx, who), who, op, in.path("agentId"))
	if err != nil {
		return nil, err
	}
	return i.call(ctx, handlers{a}, in)
}

// WithoutWait returns a context in which a message is answered with its turn, without waiting for the reply, as with
// Prefer: respond-async.
func WithoutWait(ctx context.Context) context.Context {
	return context.WithValue(ctx, preferenceKey{}, preference{given: true})
}

// EncodeReply encodes a reply of Invoke exactly as the REST API does.
func EncodeReply(reply any) ([]byte, error) {
	if accepted, ok := reply.(*oas.TurnWorkingHeaders); ok {
		reply = &accepted.Response
	}
	if err := checkValue(reply); err != nil {
		return nil, core.Internal(fmt.Errorf("validate the reply: %w", err))
	}
	encodable, ok := reply.(interface{ Encode(e *jx.Encoder) })
	if !ok {
		return nil, core.Internal(fmt.Errorf("reply of type %T has no JSON form", reply))
	}
	var e jx.Encoder
	encodable.Encode(&e)
	return e.Bytes(), nil
}

// checkValue runs the generated validation of a value, which only types with constraints have.
func checkValue(value any) error {
	if v, ok := value.(interface{ Validate() error }); ok {
		return v.Validate()
	}
	return nil
}

// input gives the generated invokers access to the arguments of one call.
type input struct {
	args     Arguments
	required []string
	// ids are the decoded parameters of the path.
	ids map[string]string
}

func (in input) path(name string) string { return in.ids[name] }

// value returns an argument. A null stands for an absent optional argument, because many models send one for every
// argument that they leave out.
func (in input) value(name string) (json.RawMessage, bool) {
	value, ok := in.args[name]
	if ok && string(value) == "null" && !slices.Contains(in.required, name) {
		return nil, false
	}
	return value, ok
}

// queryText decodes a text of the query. T is string or a generated enumeration.
func queryText[T ~string](in input, name string, minLength int, set func(T)) error {
	raw, ok := in.value(name)
	if !ok {
		return nil
	}
	value := T(scalar(raw))
	if len(value) < minLength || checkValue(value) != nil {
		return core.InvalidField(name, ruleOf(name))
	}
	set(value)
	return nil
}

//nolint:unparam // called by generated code
func queryInt(in input, name string, minimum, maximum int, set func(int)) error {
	raw, ok := in.value(name)
	if !ok {
		return nil
	}
	n, err := strconv.Atoi(scalar(raw))
	if err != nil || n < minimum || n > maximum {
		return core.InvalidField(name, ruleOf(name))
	}
	set(n)
	return nil
}

func queryBool(in input, name string, set func(bool)) error {
	raw, ok := in.value(name)
	if !ok {
		return nil
	}
	switch scalar(raw) {
	case "true":
		set(true)
	case "false":
		set(false)
	default:
		return core.InvalidField(name, ruleOf(name))
	}
	return nil
}

// scalar returns a JSON value as it would appear in a query: strings without quotes, whole numbers in plain form.
func scalar(value json.RawMessage) string {
	if plain, ok := wholeNumber(string(value)); ok {
		return plain // 10.0 is an integer in JSON Schema, but not in a query
	}
	var s string
	if json.Unmarshal(value, &s) == nil {
		return s
	}
	return string(value)
}

// body decodes the members of the body into the generated type.
func (in input) body(into interface{ Decode(d *jx.Decoder) error }, names ...string) error {
	body, err := checkBody(in.object(names))
	if err != nil {
		return err
	}
	if err := into.Decode(jx.DecodeBytes(body)); err != nil {
		return bodyError(err)
	}
	if err := checkValue(into); err != nil {
		return bodyError(err)
	}
	return nil
}

// object returns the given ones of these arguments as a JSON object.
func (in input) object(names []string) []byte {
	body := []byte{'{'}
	for _, name := range names {
		value, ok := in.value(name)
		if !ok {
			continue
		}
		if len(body) > 1 {
			body = append(body, ',')
		}
		body = append(append(strconv.AppendQuote(body, name), ':'), value...)
	}
	return append(body, '}')
}
