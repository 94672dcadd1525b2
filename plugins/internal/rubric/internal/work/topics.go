package work

var people = []string{"Ana", "Bilal", "Chen", "Dora", "Emil", "Farah", "Goran", "Hana", "Ivo", "Jun", "Klara", "Liam", "Mira", "Noor", "Omar", "Petra"}

// topics are the kinds of reports. No word of their titles, events, actions or
// matters is one that the catalogue's rules count: figures, the terms
// themselves, buzzwords, or what begins a summary.
var topics = []topic{
	{
		title: "the outage of the booking service", readers: "the board of operations",
		terms: []string{"failover", "replica lag", "quorum", "circuit breaker", "write-ahead log", "split brain"},
		measures: []measure{
			{"minutes without service", "min", 31, 240}, {"lost bookings", "bookings", 110, 980}, {"calls to the hotline", "calls", 210, 1900},
			{"refunds", "EUR", 1200, 9800}, {"median response time", "ms", 120, 900},
		},
		events:  []string{"the first customers could not book", "the second data centre took over", "the cause was found in a change of settings", "the repair went live", "the service was slow again for a while"},
		actions: []string{"test the switch to the second data centre", "write down who calls whom at night", "raise the alarm while the disk has room", "review changes of settings in pairs", "tell customers on the status page"},
		matters: []string{"the way in which alarms reach the people on duty", "the load of the remaining machines", "the trust of the travel agencies", "the age of the database servers", "the plan for the holiday season"},
	},
	{
		title: "sales of the last quarter", readers: "the head of sales",
		terms: []string{"churn", "pipeline coverage", "gross margin", "upsell", "run rate", "attach rate"},
		measures: []measure{
			{"orders", "orders", 310, 2400}, {"revenue", "kEUR", 140, 990}, {"new customers", "customers", 24, 190},
			{"returns", "orders", 21, 160}, {"visits to the shop", "visits", 4100, 39000},
		},
		events:  []string{"the spring catalogue came out", "the largest customer signed for another year", "the new price list took effect", "the warehouse was closed for stocktaking", "a competitor opened a shop in the north"},
		actions: []string{"call the customers who left", "hire a second person for the north", "update the price list of the web shop", "agree on discounts with the warehouse", "prepare the fair in autumn"},
		matters: []string{"the demand for garden furniture", "the work of the team in the north", "the prices of the competitors", "the weather in early spring", "the deliveries from the south"},
	},
	{
		title: "the state of the new library building", readers: "the town council",
		terms: []string{"load-bearing", "screed", "punch list", "retention", "change order", "curtain wall"},
		measures: []measure{
			{"budget spent", "kEUR", 410, 3900}, {"workers on the site", "people", 24, 95}, {"finished rooms", "rooms", 21, 88},
			{"open defects", "defects", 22, 140}, {"days of rain", "days", 21, 48},
		},
		events:  []string{"the roof was closed", "the windows of the reading hall arrived", "the fire brigade inspected the stairs", "the crane was taken down", "the heating ran for the first time"},
		actions: []string{"order the shelves of the reading hall", "repair the leak above the entrance", "invite the neighbours to a visit", "settle the invoice of the roofer", "choose the colour of the carpets"},
		matters: []string{"the noise for the neighbours", "the price of steel and timber", "the wishes of the librarians", "the path from the station", "the light in the reading hall"},
	},
	{
		title: "what patients say about the clinic", readers: "the nurses and the management",
		terms: []string{"triage", "no-show rate", "length of stay", "case mix", "readmission", "handover protocol"},
		measures: []measure{
			{"answers", "answers", 140, 990}, {"minutes of waiting", "min", 21, 95}, {"complaints", "letters", 22, 130},
			{"praise", "letters", 25, 210}, {"missed appointments", "visits", 31, 280},
		},
		events:  []string{"the telephone system was replaced", "the survey was sent out", "the new front desk opened", "the ward on the second floor moved", "the last answers came in"},
		actions: []string{"open the front desk half an hour earlier", "print the leaflet in larger letters", "call back everybody who complained", "put more chairs into the corridor", "show the waiting time on a screen"},
		matters: []string{"the friendliness of the staff", "the way to the right floor", "the food in the evening", "the time between call and visit", "the letters after a visit"},
	},
	{
		title: "the trial of electric delivery vans", readers: "the owners of the company",
		terms: []string{"state of charge", "regenerative braking", "depot charging", "payload", "duty cycle", "telematics"},
		measures: []measure{
			{"kilometres driven", "km", 2100, 18000}, {"parcels", "parcels", 1900, 21000}, {"cost of energy", "EUR", 310, 2900},
			{"breakdowns", "cases", 21, 60}, {"range in winter", "km", 110, 260},
		},
		events:  []string{"the first van was delivered", "the chargers in the yard were switched on", "the route through the hills was driven in snow", "the drivers were asked what they think", "the insurance was renewed"},
		actions: []string{"train the drivers of the late shift", "ask for an offer for more vans", "move the chargers under the roof", "plan shorter routes for cold days", "sell the oldest diesel van"},
		matters: []string{"the mood of the drivers", "the price of electricity at night", "the quiet in the streets in the morning", "the load on steep roads", "the space in the yard"},
	},
	{
		title: "the field test of a new kind of wheat", readers: "the members of the cooperative",
		terms: []string{"lodging", "tillering", "seed dressing", "protein content", "nitrogen uptake", "test weight"},
		measures: []measure{
			{"yield", "dt", 41, 96}, {"plots", "plots", 24, 120}, {"fertiliser", "kg", 110, 240},
			{"sick plants", "plants", 31, 400}, {"rain in summer", "mm", 90, 310},
		},
		events:  []string{"the seed was put into the ground", "the first shoots came up", "hail hit the eastern plots", "the harvest began", "the mill sent its results"},
		actions: []string{"buy seed for the western fields", "repeat the test on sandy soil", "talk to the mill about the price", "clean the drill in summer", "write to the breeder"},
		matters: []string{"the soil of the eastern plots", "the dry weeks before the harvest", "the wishes of the bakers", "the cost of the seed", "the work in the busiest weeks"},
	},
}
