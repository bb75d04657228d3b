package httpapi

import (
	"context"
	"errors"
	"net/http"
	"path"
	"strings"

	ht "github.com/ogen-go/ogen/http"
	"github.com/ogen-go/ogen/validate"

	"carrel/internal/core"
	"carrel/internal/httpapi/oas"
	"carrel/internal/lazyregexp"
)

// decodeError turns an error of the generated decoder into the error for the client. It names fields but never repeats
// input.
func decodeError(err error) error {
	var params *oas.DecodeParamsError
	if errors.As(err, &params) {
		var param *oas.DecodeParamError
		if errors.As(err, &param) {
			if param.In == "path" {
				return core.NotFound("path") // an empty id, from a path that ends in a slash
			}
			return core.InvalidField(param.Name, ruleOf(param.Name))
		}
		return core.Invalid()
	}
	var request *oas.DecodeRequestError
	if !errors.As(err, &request) {
		return core.Internal(err)
	}
	if errors.Is(err, validate.ErrBodyRequired) {
		return malformed("The body is empty. Send a JSON object.")
	}
	return bodyError(err)
}

// bodyError turns an error of a generated decoder or validator into the error for the client.
func bodyError(err error) error {
	if fields := invalidFields("", err); len(fields) > 0 {
		return core.Invalid(fields...)
	}
	if pointer := decodedField(err); pointer != "" {
		return core.InvalidField(pointer, ruleOf(strings.TrimPrefix(pointer, "/")))
	}
	return core.Invalid(core.FieldError{Pointer: "", Detail: "Does not match the contract."})
}

// newValidator returns a server that decodes and validates requests without carrying them out. Errors are stored in the
// request's outcome.
func newValidator() (*oas.Server, error) {
	return oas.NewServer(oas.UnimplementedHandler{},
		oas.WithErrorHandler(func(ctx context.Context, _ http.ResponseWriter, _ *http.Request, err error) {
			if !errors.Is(err, ht.ErrNotImplemented) {
				outcomeOf(ctx).err = decodeError(err)
			}
		}))
}

// validate returns the validation error of a request.
func (a *API) validate(r *http.Request) error {
	var out outcome
	rep := newReply(http.Header{})
	defer rep.free()
	a.validator.ServeHTTP(rep, r.WithContext(context.WithValue(r.Context(), outcomeKey{}, &out)))
	return out.err
}

// invalidFields returns the fields of a validation error, with JSON pointers.
func invalidFields(at string, err error) []core.FieldError {
	var v *validate.Error
	if !errors.As(err, &v) {
		return nil
	}
	var out []core.FieldError
	for _, f := range v.Fields {
		name, detail := f.Name, ruleOf(f.Name)
		if index, ok := strings.CutPrefix(name, "["); ok { // "[2]" is an item of a list
			name, detail = strings.TrimSuffix(index, "]"), ruleOf(path.Base(at))
		}
		pointer := at + "/" + name
		if inner := invalidFields(pointer, f.Error); inner != nil {
			out = append(out, inner...)
			continue
		}
		if errors.Is(f.Error, validate.ErrFieldRequired) {
			detail = "Is required."
		}
		out = append(out, core.FieldError{Pointer: pointer, Detail: detail})
	}
	return out
}

// fieldName matches the field in the text of a decoder error; ogen provides it in no other form.
var fieldName = lazyregexp.New(`decode field "([A-Za-z]+)"`)

func decodedField(err error) string {
	pointer := ""
	for _, m := range fieldName.FindAllStringSubmatch(err.Error(), 4) {
		if knownField(m[1]) {
			pointer += "/" + m[1]
		}
	}
	return pointer
}

// fieldRules are the error details of fields with a value of the wrong type or out of range. The services check the
// lengths of texts.
var fieldRules = map[string]string{ //nolint:gosec // texts, not credentials
	"agents":       "Must be a list of agents' ids.",
	"answerLength": "Must be short, normal or long.",
	"archived":     "Must be true or false.",
	"authors":      "Must be a list of at most 500 names.",
	"card":         "Must be a JSON object.",
	"active":       "Must be true or false.",
	"agentId":      "Must be a text: the id of an agent.",
	"cardId":       "Must be a text: the id of a card.",
	"cardIds":      "Must be a list of 1 to 200 ids of cards.",
	"client":       "Must be a text: a short name for the tool.",
	"code":         "Must be a text: a connect code.",
	"cursor":       "Must be a text: nextCursor of the previous page.",
	"countBy":      "Must be a list of type, author, venue, language, tag and source.",
	"default":      "Must be true or false.",
	"description":  "Must be a text.",
	"documentIds":  "Must be a list of at most 50 documents' ids.",
	"documents":    "Must be a list of 1 to 500 documents.",
	"doi":          "Must be a text.",
	"email":        "Must be a text: an e-mail address.",
	"events":       "Must be a list of turn.completed and turn.failed.",
	"examples":     "Must be a list of at most 6 questions.",
	"expiresAt":    "Must be an RFC 3339 time, such as 2026-11-15T10:00:00Z.",
	"externalId":   "Must be a text: your id of the document.",
	"facets":       "Must be true or false.",
	"search":       "Must be an object: a search with a query.",
	"favourites":   "Must be a list of 1 to 1000 favourites, each with agentId and cardId.",
	"fromYear":     "Must be a year from 1 to 9999.",
	"grant":        "Must be viewer, user or manager.",
	"fromAgentId":  "Must be a text: the id of an agent.",
	"ids":          "Must be a list of 1 to 500 ids.",
	"instructions": "Must be a text.",
	"kind":         "Must be a text: a kind of source.",
	"language":     "Must be a text: an ISO 639-1 code.",
	"limit":        "Must be a whole number from 1 to 200.",
	"markdown":     "Must be true or false.",
	"model":        "Must be a text.",
	"name":         "Must be a text.",
	"note":         "Must be a text.",
	"numResults":   "Must be a whole number from 1 to 100.",
	"opening":      "Must be a text.",
	"origin":       "Must be one of the documented values.",
	"pinned":       "Must be true or false.",
	"policy":       "Must be strict, marked or open.",
	"publishedAt":  "Must be a text: a date or a date-time.",
	"content":      "Must be a text: the content of the file.",
	"collections":  "Must be a list of at most 100 ids of collections.",
	"filter":       "Must be an object of lists, and of hasYear, true or false.",
	"format":       "Must be one of the documented formats.",
	"collection":   "Must be a text: the id of a collection.",
	"collectionId": "Must be a text: the id of a collection.",
	"tag":          "Must be a text.",
	"q":            "Must be a text.",
	"queries":      "Must be a list of 1 to 20 searches.",
	"query":        "Must be a text.",
	"research":     "Must be true or false.",
	"scopes":       "Must be a list of agents, manage, account and admin.",
	"secret":       "Must be a text.",
	"settings":     "Must be a JSON object.",
	"sort":         "Must be one of the documented orders.",
	"sourceId":     "Must be a text: the id of one of the agent's sources.",
	"sourceIds":    "Must be a list of at most 100 ids of the agent's sources.",
	"status":       "Must be one of the documented values.",
	"tags":         "Must be a list of at most 50 texts.",
	"text":         "Must be a text.",
	"threadId":     "Must be a text: the id of a thread of this agent.",
	"thumb":        "Must be up or down.",
	"title":        "Must be a text.",
	"toYear":       "Must be a year from 1 to 9999.",
	"type":         "Must be a text.",
	"url":          "Must be a text: a URL.",
	"venue":        "Must be a text.",
	"versionOf":    "Must be a text: the id of a message of this thread.",
	"year":         "Must be a year from 1 to 2200, or 0 if it is unknown.",
}

func ruleOf(name string) string {
	if rule, ok := fieldRules[name]; ok {
		return rule
	}
	return "Does not match the contract."
}

// knownField reports whether a name is a field of the contract, which error messages may repeat.
func knownField(name string) bool {
	_, ok := fieldRules[name]
	return ok
}
