// Package core defines the types that all other packages share: ids, errors, paging, the clock, the actor of a request,
// and the decision what the actor may do. It depends on no protocol and no database.
package core
