import ConformanceKit
import Experimentation
import Foundation

extension Scenario {
    /// The built-in scenarios; the first is the default.
    public static let shipped: [Scenario] = [.checkout, .login, .offlineStart, .killSwitch, .blackFriday]

    /// The default: a user gets decisions, buys, meets a failing vendor and withdraws consent.
    public static let checkout = Scenario(
        name: "checkout",
        title: "A shop tries a new checkout",
        summary: """
            Ada opens the shop, gets her decisions, sees the new checkout and buys a teapot. The vendor fails twice and \
            recovers, then goes away and comes back. At the end Ada withdraws her consent.
            """,
        world: .shop,
        steps: [
            Step("Ada opens the shop", .arrive(userID: "ada")),
            Step("Her decisions are fetched", .refresh),
            Step("Is shipping free?", .read(flag: "free-shipping", default: false)),
            Step("How many items a page?", .read(flag: "items-per-page", default: 12)),
            Step("Which discount?", .read(flag: "discount", default: 0.05)),
            Step("Which theme?", .read(flag: "theme", default: ["accent": "#000", "dark": false])),
            Step("Which colour has the checkout?", .read(flag: "checkout-color", default: "black")),
            Step("She sees the new checkout", .see(experiment: "checkout")),
            Step("She views a teapot", .track([.viewItem(.teapot)], times: 1)),
            Step("She puts it in the cart", .track([.addToCart(LineItem(item: .teapot))], times: 1)),
            Step("She buys it", .track([.purchase(.teapotOrder)], times: 1)),
            Step("A newsletter is asked for", .track([.custom("newsletter", value: 1)], times: 1)),
            Step("What waits is delivered", .flush),
            Step("The vendor fails twice", .fault([WorldFault(.status(503), on: .events, times: 2)])),
            Step("She shares the teapot", .track([.custom("shared", attributes: ["item": "teapot-7"])], times: 1)),
            Step("Delivery while it fails", .flush),
            Step("A minute passes", .wait(seconds: 60)),
            Step("Delivery after it recovered", .flush),
            Step("The vendor goes away", .network(isReachable: false)),
            Step("Decisions are asked for in vain", .refresh),
            Step("The colour, while it is away", .read(flag: "checkout-color", default: "black")),
            Step("She looks for mugs", .track([.custom("search", attributes: ["for": "mug"])], times: 1)),
            Step("Delivery in vain", .flush),
            Step("The vendor comes back", .network(isReachable: true)),
            Step("Two minutes pass", .wait(seconds: 120)),
            Step("Delivery after it came back", .flush),
            Step("She rates the teapot", .track([.custom("rated", value: 5)], times: 1)),
            Step("She withdraws her consent", .consent(.denied)),
            Step("She looks again", .track([.custom("search", attributes: ["for": "cup"])], times: 1)),
            Step("Nothing more may be sent", .flush),
        ]
    )

    /// An anonymous user logs in with a full cart.
    public static let login = Scenario(
        name: "login",
        title: "Signing in in the middle",
        summary: """
            An anonymous user looks around and fills a cart, then signs in as Ada and buys. What does the vendor keep of \
            the time before?
            """,
        world: .shop.changing { world in
            world.name = "shop-with-guest"
            world.users = [User(id: "guest-7", attributes: ["plan": "free"], consent: .granted), .ada]
        },
        steps: [
            Step("An anonymous user arrives", .arrive(userID: "guest-7")),
            Step("Decisions are fetched", .refresh),
            Step("Which colour has the checkout?", .read(flag: "checkout-color", default: "black")),
            Step("A teapot is viewed", .track([.viewItem(.teapot)], times: 1)),
            Step("It goes into the cart", .track([.addToCart(LineItem(item: .teapot))], times: 1)),
            Step("What waits is delivered", .flush),
            Step("Green tea is searched for", .track([.custom("search", attributes: ["for": "green tea"])], times: 1)),
            Step("The user signs in as Ada", .logIn(User(id: "ada", isAuthenticated: true, consent: .granted))),
            Step("Ada's decisions are fetched", .refresh),
            Step("The same colour?", .read(flag: "checkout-color", default: "black")),
            Step("She buys", .track([.purchase(.teapotOrder)], times: 1)),
            Step("What waits is delivered", .flush),
        ]
    )

    /// The application starts offline, first with and then without data stored by an earlier run.
    public static let offlineStart = Scenario(
        name: "offline-start",
        title: "Starting without a network",
        summary: """
            The very first start is offline: nothing is known. Then the vendor is there, and after a restart it is away \
            again: what was stored must do. What was tracked offline arrives in the end.
            """,
        world: .shop,
        steps: [
            Step("There is no network", .network(isReachable: false)),
            Step("Ada opens the shop for the first time", .arrive(userID: "ada")),
            Step("Decisions are asked for in vain", .refresh),
            Step("The colour is the default", .read(flag: "checkout-color", default: "black")),
            Step("She searches", .track([.custom("search", attributes: ["for": "mug"])], times: 1)),
            Step("The network comes back", .network(isReachable: true)),
            Step("A minute passes", .wait(seconds: 60)),
            Step("Decisions are fetched", .refresh),
            Step("The colour is decided", .read(flag: "checkout-color", default: "black")),
            Step("What waits is delivered", .flush),
            Step("The network is gone again", .network(isReachable: false)),
            Step("The application starts again", .restart),
            Step("Decisions are asked for in vain", .refresh),
            Step("The colour from the earlier run", .read(flag: "checkout-color", default: "black")),
            Step("She buys", .track([.custom("ordered", value: 39.9)], times: 1)),
            Step("The network comes back", .network(isReachable: true)),
            Step("Two minutes pass", .wait(seconds: 120)),
            Step("What waits is delivered", .flush),
        ]
    )

    /// The vendor's kill switch is turned on and off again.
    public static let killSwitch = Scenario(
        name: "kill-switch",
        title: "The kill switch",
        summary: """
            At the vendor's console, everything is switched off, and later on again. How soon does the application \
            notice, what does it read meanwhile, and what is sent?
            """,
        world: .shop,
        steps: [
            Step("Ada opens the shop", .arrive(userID: "ada")),
            Step("Her decisions are fetched", .refresh),
            Step("Which colour has the checkout?", .read(flag: "checkout-color", default: "black")),
            Step("The kill switch is turned on", .killSwitch(isOn: true)),
            Step("An hour passes", .wait(seconds: 3600)),
            Step("Decisions are fetched", .refresh),
            Step("The colour, switched off", .read(flag: "checkout-color", default: "black")),
            Step("She searches", .track([.custom("search", attributes: ["for": "mug"])], times: 1)),
            Step("Delivery, switched off", .flush),
            Step("The kill switch is turned off", .killSwitch(isOn: false)),
            Step("An hour passes", .wait(seconds: 3600)),
            Step("Decisions are fetched", .refresh),
            Step("The colour, switched on", .read(flag: "checkout-color", default: "black")),
            Step("What waits is delivered", .flush),
        ]
    )

    /// A large number of events while the vendor can't keep up.
    public static let blackFriday = Scenario(
        name: "black-friday",
        title: "Black Friday",
        summary: """
            Six hundred events in a burst, while the vendor answers slowly, asks for patience, breaks connections after \
            taking what they brought, and fails outright. Nothing may be lost.
            """,
        world: .shop,
        steps: [
            Step("Ada opens the shop", .arrive(userID: "ada")),
            Step("Her decisions are fetched", .refresh),
            Step("Which discount?", .read(flag: "discount", default: 0.05)),
            Step(
                "The vendor can't keep up",
                .fault([
                    WorldFault(.delay(milliseconds: 20), on: .events, times: 3),
                    WorldFault(.status(429, retryAfter: 2), on: .events, times: 1),
                    WorldFault(.resetAfterApplying, on: .events, times: 1),
                    WorldFault(.status(503), on: .events, times: 1),
                ])
            ),
            Step("Six hundred clicks", .track([.custom("clicked", value: 1)], times: 600)),
            Step("She buys", .track([.custom("ordered", value: 99.5)], times: 1)),
            Step("Delivery, first attempt", .flush),
            Step("A minute passes", .wait(seconds: 60)),
            Step("Delivery, second attempt", .flush),
            Step("Five minutes pass", .wait(seconds: 300)),
            Step("Delivery, third attempt", .flush),
            Step("Ten minutes pass", .wait(seconds: 600)),
            Step("Delivery, last attempt", .flush),
        ]
    )
}

extension Order {
    /// An order of one teapot, with shipping.
    fileprivate static let teapotOrder = Order(
        id: "order-1",
        lines: [LineItem(item: .teapot)],
        total: Decimal(sign: .plus, exponent: -2, significand: 4480),
        currency: "EUR",
        affiliation: "web-shop",
        shipping: Decimal(sign: .plus, exponent: -2, significand: 490),
        tax: Decimal(sign: .plus, exponent: -2, significand: 637)
    )
}
