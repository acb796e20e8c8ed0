import BenchmarkHarness
@_spi(StoredForm) import Experimentation
import Foundation

/// Encoding and decoding an event for the store, as for each tracked event.
enum Envelopes {
    /// A typical event: a name, a value, a few attributes.
    private static let common = Envelope(
        id: "0198f3b2-7c41-7d0e-9a53-b1a2c3d4e5f6",
        sequence: 48_213,
        identity: Identity(id: "user-004711", anonymousID: "a-83f1c2", isAuthenticated: true),
        session: "0198f3b2-7c41-7d0e-9a53-000000000001",
        surface: "checkout",
        event: .custom(
            "spun-wheel",
            value: 12.5,
            attributes: ["plan": "pro", "seats": 25, "price": 19.99, "trial": false]
        ),
        date: Date(timeIntervalSince1970: 1_795_262_400.123_456),
        attributeChanges: ["plan": "pro"]
    )

    /// An event with lists, non-ASCII text and line breaks.
    private static let rich: Envelope = {
        var rich = common
        rich.event = .custom(
            "café besucht",
            value: 3,
            attributes: [
                "items": [["id": "a-1", "tags": ["new", "red"]], ["id": "a-2", "tags": []]],
                "note": "first line\nsecond \"line\"", "grüße": "schöne Grüße",
            ]
        )
        return rich
    }()

    static func measure(_ table: inout Table) throws {
        for (name, envelope) in [("a common event", common), ("a rich event", rich)] {
            let bytes = try envelope.stored()
            let writing = Cost.of(20_000) { count in
                for _ in 0..<count { consume(try? envelope.stored()) }
            }
            let reading = Cost.of(20_000) { count in
                for _ in 0..<count { consume(try? Envelope(stored: bytes)) }
            }
            table.add("\(name), written (\(bytes.count) bytes)", writing.nanoseconds, unit: "ns")
            table.add("\(name), read", reading.nanoseconds, unit: "ns")
        }
    }
}
