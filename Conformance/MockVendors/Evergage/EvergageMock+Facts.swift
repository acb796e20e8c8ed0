extension EvergageMock {
    /// How each behavior that the vendor's documentation leaves open is known.
    public static let facts: [MockFact] = [
        MockFact(.documented, "an order id counts once, and an order without lines is the cart"),
        MockFact(.documented, "noCampaigns brings no campaigns; doNotTrack is taken and not processed"),
        MockFact(.documented, "the authenticated route brings campaigns on the channel Server alone"),
        MockFact(.documented, "a campaign for the channel Server needs the authenticated route"),
        MockFact(.documented, "messages come on the channel Server alone", setting: "strictChannels"),
        MockFact(.documented, "a campaign without a channel is for Server", setting: "strictChannels"),
        MockFact(.documented, "experiences are forced on the authenticated route alone", setting: "strictTestAuth"),
        MockFact(
            .documented,
            "attributes must be declared in the data set; what isn't is left out",
            setting: "attributes"
        ),
        MockFact(.read, "the beacon posts plain JSON in a form, where the documents have base64"),
        MockFact(.read, "control may be a text, and the channel in any case, as programs send them"),
        MockFact(.read, "view time goes to /pr, statistics to /msreceiver, with all in the query"),
        MockFact(.read, "the SDK compresses what it sends"),
        MockFact(
            .inferred,
            "every status: 200 for what is processed or invalid, 400, 401, 403, 404, 405 and 413 for the rest"
        ),
        MockFact(.inferred, "an event needs an action, statistics, a token or attributes, and a user"),
        MockFact(
            .inferred,
            "an item action without its item, line, cart or order is error code 5",
            setting: "strictItems"
        ),
        MockFact(.inferred, "an unknown item action is a plain action beside an action, and nothing by itself"),
        MockFact(.inferred, "an event's X-Event-Id is processed once"),
        MockFact(
            .inferred,
            "an anonymous user's cart, orders and attributes move to the name as soon as both come together"
        ),
        MockFact(.inferred, "lines with one id are added up in a cart, and an update to nothing removes the line"),
        MockFact(.inferred, "the control group is chosen by the CRC-32 of the user's key and the campaign's id"),
        MockFact(.inferred, "a campaign for content zones answers events that name one of them"),
        MockFact(.inferred, "a visit ends after half an hour without an event"),
        MockFact(
            .inferred,
            "the remote configuration's address and members; an unknown application is 404",
            setting: "applications"
        ),
        MockFact(.inferred, "an encrypted id is the base64 of enc: and the id", setting: "encryptedIds"),
        MockFact(.inferred, "overload is error code 3", setting: "busy"),
    ]
}
