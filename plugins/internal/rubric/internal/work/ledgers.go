package work

// ledgers are the kinds of tables. Names have no commas and do not begin like
// totals or missing values.
var ledgers = []ledger{
	{
		"the work on projects", "project", "team",
		[]string{"Atlas", "Birch", "Comet", "Delta", "Ember", "Falcon", "Garnet", "Harbour", "Iris", "Juniper"}, []string{"red", "green", "blue"},
		column{"hours", "h", 20, 400}, column{"cost", "EUR", 900, 9000},
	},
	{
		"deliveries of suppliers", "supplier", "country",
		[]string{"Aldora", "Brenk", "Corvo", "Dunmore", "Estel", "Fjord", "Gallo", "Hartung", "Ilmen", "Jarvis"}, []string{"Austria", "Denmark", "Italy"},
		column{"weight", "kg", 100, 4000}, column{"value", "EUR", 300, 8000},
	},
	{
		"the use of energy in buildings", "building", "district",
		[]string{"Archive", "Bakery", "Chapel", "Depot", "Foundry", "Gallery", "Hospital", "Kiosk", "Library", "Museum"}, []string{"north", "east", "south"},
		column{"area", "m2", 200, 5000}, column{"energy", "kWh", 2000, 90000},
	},
	{
		"what members ran in May", "member", "club",
		[]string{"Ana", "Bilal", "Chen", "Dora", "Emil", "Farah", "Goran", "Hana", "Ivo", "Klara"}, []string{"river", "hill", "harbour"},
		column{"time", "min", 120, 900}, column{"distance", "km", 15, 190},
	},
	{
		"harvests of fields", "field", "crop",
		[]string{"Alder", "Brook", "Cairn", "Dale", "Elm", "Ferry", "Grove", "Heath", "Island", "Knoll"}, []string{"wheat", "barley", "rye"},
		column{"size", "ha", 12, 90}, column{"yield", "dt", 300, 4000},
	},
	{
		"water in reservoirs", "reservoir", "region",
		[]string{"Ardal", "Bergen", "Cole", "Drava", "Esk", "Foss", "Glen", "Holm", "Isar", "Kander"}, []string{"west", "centre", "coast"},
		column{"depth", "m", 12, 120}, column{"volume", "hm3", 40, 700},
	},
}
