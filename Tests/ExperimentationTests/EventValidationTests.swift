import Testing

@testable import Experimentation

@Suite("What is invalid for every vendor")
struct EventValidationTests {
    /// Events that hold a value, in each place that takes one from the application.
    private static func holders(of value: FlagValue) -> [TrackingEvent] {
        let item = CatalogItem(id: "mug", attributes: ["deep": value])
        let line = LineItem(item: item)
        return [
            .custom("a", attributes: ["deep": value]), .viewItem(item), .viewItemDetail(item), .viewCategory(item),
            .viewTag(item), .addToCart(line), .removeFromCart(line), .replaceCart([line]),
            .purchase(Order(lines: [line])), .review(item), .share(item), .comment(item), .favorite(item),
        ]
    }

    /// Events whose payload is nested this deep.
    private static func payloads(_ depth: Int) -> [TrackingEvent] {
        let payload = ["deep": nested(depth - 1)]
        return [
            .notificationReceived(NotificationContent(payload: payload)),
            .notificationOpened(NotificationContent(payload: payload)),
            TrackingEvent(.native(NativeEvent(type: "x", payload: payload))),
        ]
    }

    private static func nested(_ depth: Int) -> FlagValue { (0..<depth).reduce(1) { value, _ in [value] } }

    @Test("P56 an event's values may be nested 16 levels deep, and no deeper, wherever they are")
    func sixteenLevels() throws {
        for event in Self.holders(of: Self.nested(16)) + Self.payloads(16) { try event.validate() }
        for event in Self.holders(of: Self.nested(17)) + Self.payloads(17) + Self.holders(of: .double(.nan)) {
            let error = #expect(throws: ExperimentationError.self, "\(event.type)") { try event.validate() }
            #expect(error?.code == .invalidArgument)
        }
    }
}
