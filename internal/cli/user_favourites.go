package cli

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"carrel/client"
)

type favouriteCommands struct {
	List   favouritesList   `cmd:"" default:"withargs" help:"List or search the favourites of an agent."`
	Add    favouritesAdd    `cmd:"" help:"Save the first result of a search, or the result with a card id."`
	Remove favouritesRemove `cmd:"" help:"Remove a favourite."`
}

type favouritesList struct {
	connectFlags
	agentFlag
	limitFlag
	Words []string `arg:"" optional:"" help:"Only favourites with these words."`
}

// Run lists favourites.
func (c favouritesList) Run(ctx context.Context, env *Env) error {
	return c.withAgent(ctx, env, c.Agent, func(s *session, agent string) error {
		params := client.ListFavouritesParams{Q: strings.Join(c.Words, " ")}
		favourites, err := collect(c.Limit, s.ListFavouritesAll(ctx, agent, params))
		if err != nil {
			return err
		}
		return list(s, "favourites", favourites,
			"There is no favourite. Save one: carrel favourites add --card CARD \"query\"",
			[]string{"CARD", "YEAR", "TITLE"}, func(f client.Favourite) []string {
				var card client.Card
				_ = json.Unmarshal(f.Card, &card) // a card may have any fields
				year := ""
				if card.Year != 0 {
					year = strconv.FormatInt(card.Year, 10)
				}
				return []string{f.CardID, year, card.Title}
			})
	})
}

type favouritesAdd struct {
	connectFlags
	agentFlag
	Query []string `arg:"" help:"The query that finds the document."`
	Card  string   `placeholder:"CARD" help:"The card id of the result to save, as carrel search prints it. Default: the first result."`
}

// maxResults is the largest number of results of a search.
const maxResults = 100

// Run searches and saves a result. Cards are search results, so a query is needed to get one.
func (c favouritesAdd) Run(ctx context.Context, env *Env) error {
	return c.withAgent(ctx, env, c.Agent, func(s *session, agent string) error {
		number := int64(1)
		if c.Card != "" {
			number = maxResults
		}
		found, err := s.Search(ctx, agent, client.SearchRequest{Query: strings.Join(c.Query, " "), NumResults: &number})
		if err != nil {
			return err
		}
		for _, card := range found.Results {
			if c.Card != "" && card.CardID != c.Card {
				continue
			}
			encoded, err := json.Marshal(card)
			if err != nil {
				return err
			}
			reply, err := s.SaveFavourite(ctx, agent, client.FavouriteSave{Card: encoded})
			if err != nil {
				return err
			}
			return s.done(reply, "Saved “%s” (%s).", clean(card.Title), reply.Favourite.CardID)
		}
		return &commandError{message: "no result of this search can be saved", code: exitNotFound, hint: "See: carrel search"}
	})
}

type favouritesRemove struct {
	connectFlags
	agentFlag
	Card string `arg:"" name:"card" help:"The card id of the favourite."`
}

// Run removes a favourite.
func (c favouritesRemove) Run(ctx context.Context, env *Env) error {
	return c.withAgent(ctx, env, c.Agent, func(s *session, agent string) error {
		reply, err := s.DeleteFavourite(ctx, agent, c.Card)
		if err != nil {
			return err
		}
		return s.done(reply, "Removed %s.", c.Card)
	})
}
