import Foundation
import Testing

@testable import Experimentation

@Suite("Waits, digests and the encoding of events")
struct WrittenFormTests {
    @Test(
        "waits double up to a limit and are drawn from a twentieth of it on",
        arguments: [
            (0, 1.0, 1.0), (1, 1.0, 2.0), (1, 0.0, 0.1), (3, 0.5, 4.0), (8, 1.0, 256.0), (9, 1.0, 300.0),
            (.max, 1.0, 300.0), (.min, 1.0, 1.0), (2, 7.0, 4.0), (2, -7.0, 0.2),
        ]
    )
    func waits(attempt: Int, jitter: Double, seconds: Double) {
        #expect(RetrySchedule.wait(beforeAttempt: attempt, jitter: jitter) == .seconds(seconds))
    }

    @Test(
        "SHA-256 produces the digests of the standard's examples",
        arguments: [
            ("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
            ("a", 1_000_000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
        ]
    )
    func digest(text: String, times: Int, expected: String) {
        let bytes = Array(String(repeating: text, count: times).utf8)
        #expect(Digest.sha256(bytes).map { String(format: "%02x", $0) }.joined() == expected)
    }

    @Test("every length up to three blocks is padded correctly")
    func padding() {
        // No two lengths collide, nor do the same bytes split into different fields.
        let digests = Set((0..<192).map { Digest.sha256(Array(repeating: UInt8(97), count: $0)) })
        #expect(digests.count == 192)
        #expect(Digest.hex("ab", "c") != Digest.hex("a", "bc"))
    }

    @Test("events are written as flat objects and survive a round trip", arguments: TrackingEvent.examples)
    func events(event: TrackingEvent) throws {
        let data = try JSONEncoder().encode(event)
        #expect(try JSONDecoder().decode(TrackingEvent.self, from: data) == event)
        let object = try JSONDecoder().decode([String: FlagValue].self, from: data)
        #expect(object["type"] == .string(event.type))
        #expect(TrackingEvent.types.contains(event.type))
    }

    @Test("a native event is written as before unless it carries no changed attributes, and earlier forms are read")
    func nativeEvent() throws {
        let before = #"{"payload":{"y":1},"priority":1,"type":"x"}"#
        let marked = #"{"carriesAttributeChanges":false,"payload":{"y":1},"priority":1,"type":"x"}"#
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        for (text, carries) in [(before, true), (marked, false)] {
            let event = NativeEvent(type: "x", payload: ["y": 1], carriesAttributeChanges: carries)
            #expect(String(decoding: try encoder.encode(event), as: UTF8.self) == text)
            #expect(try JSONDecoder().decode(NativeEvent.self, from: Data(text.utf8)) == event)
        }
    }

    @Test("there is an example of every type")
    func examples() {
        #expect(Set(TrackingEvent.examples.map(\.type)) == Set(TrackingEvent.types))
    }
}

extension TrackingEvent {
    static let examples: [TrackingEvent] = {
        let item = CatalogItem(id: "sku-1", name: "Shoe", price: 89.5, currency: "EUR", categories: ["Shoes"])
        let campaign = Campaign(id: "c", target: "hero", experience: Variation(id: "x"))
        let assignment = Assignment(experiment: Experiment(id: "e"), variation: Variation(id: "v"))
        return [
            .custom("a", value: 1.5, attributes: ["x": [1, "y"]]), .screenView("home"), .pageView("https://a.test/"),
            .goalCompleted("g"), .goalAbandoned("g"), .viewItem(item), .viewItem(nil), .viewItemDetail(item),
            .viewCategory(CatalogItem(id: "Shoes", kind: .category)), .viewTag(CatalogItem(id: "Acme", kind: .tag)),
            .addToCart(LineItem(item: item, quantity: 2)), .removeFromCart(LineItem(item: item)),
            .replaceCart([LineItem(item: item)]),
            .purchase(Order(id: "o", lines: [LineItem(item: item)], total: 89.5, currency: "EUR")),
            .review(item, Review(rating: 80)), .share(item), .comment(item), .favorite(item), .installed,
            .sessionStarted, .sessionEnded(seconds: 12.5), .notificationReceived(NotificationContent(message: "Hi")),
            .notificationOpened(NotificationContent(payload: ["a": 1])), .campaignImpression(campaign),
            .campaignDismissal(campaign), .campaignClick(campaign),
            TrackingEvent(.exposure(Exposure(assignment: assignment, flagKey: "f", value: true))),
            TrackingEvent(.consentChanged(granted: true)),
            TrackingEvent(.native(NativeEvent(type: "x", payload: ["y": 1], priority: .high))),
            TrackingEvent(.native(NativeEvent(type: "x", carriesAttributeChanges: false))),
        ]
    }()
}
