package favourite

import (
	"context"
	"slices"
	"strconv"

	"carrel/internal/core"
)

// Limits of the fields that a user adds to a favourite.
const (
	maxNote        = 10_000
	maxMemberships = 100
)

// Change holds new values for a favourite; nil fields stay unchanged.
type Change struct {
	Tags        *[]string
	Note        *string
	Collections *[]string
}

// Change sets the tags, the note and the collections of a favourite.
func (s *Service) Change(ctx context.Context, actor core.Actor, agentID, cardID string, c Change) (Favourite, error) {
	if err := s.allow(ctx, actor, core.OpChangeFavourite, agentID); err != nil {
		return Favourite{}, err
	}
	if c.Collections != nil {
		if err := actor.AllowWholeAccount(); err != nil {
			return Favourite{}, err
		}
	}
	if err := c.clean(); err != nil {
		return Favourite{}, err
	}
	if !ValidCardID(cardID) {
		return Favourite{}, core.NotFound("favourite")
	}
	if err := s.checkCollections(ctx, actor.UserID, c.Collections); err != nil {
		return Favourite{}, err
	}
	f, err := s.store.ChangeFavourite(ctx, actor.UserID, agentID, cardID, c, s.clock.Now())
	if err != nil {
		return Favourite{}, err
	}
	return safe([]Favourite{f})[0], nil
}

// clean replaces the values by the form to store and returns an error for the invalid ones.
func (c *Change) clean() error {
	var bad []core.FieldError
	if c.Tags != nil {
		tags, invalid := core.CleanTags(*c.Tags)
		c.Tags, bad = &tags, invalid
	}
	if c.Note != nil {
		note, detail := core.TextRule{Max: maxNote}.Clean(*c.Note)
		if detail != "" {
			bad = append(bad, core.FieldError{Pointer: "/note", Detail: detail})
		}
		c.Note = &note
	}
	if c.Collections != nil && len(*c.Collections) > maxMemberships {
		bad = append(bad, core.FieldError{Pointer: "/collections", Detail: "Must be at most 100 collections."})
	}
	if bad != nil {
		return core.Invalid(bad...)
	}
	return nil
}

// checkCollections returns an error for ids that are not collections of the user.
func (s *Service) checkCollections(ctx context.Context, userID string, ids *[]string) error {
	if ids == nil || len(*ids) == 0 {
		return nil
	}
	known, err := s.store.Collections(ctx, userID)
	if err != nil {
		return err
	}
	var bad []core.FieldError
	for i, id := range *ids {
		if !slices.ContainsFunc(known, func(c Collection) bool { return c.ID == id }) {
			bad = append(bad, core.FieldError{
				Pointer: "/collections/" + strconv.Itoa(i), Detail: "There is no such collection.",
			})
		}
	}
	if bad != nil {
		return core.Invalid(bad...)
	}
	return nil
}
