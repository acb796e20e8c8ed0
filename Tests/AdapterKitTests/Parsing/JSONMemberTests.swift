import AdapterKit
import Experimentation
import Foundation
import Testing

@Suite("Members described once for reading and writing")
struct JSONMemberTests {
    enum Season: String {
        case any, winter
    }

    struct Offer: Equatable {
        var title: String?
        var isNew: Bool?
        var price: Double?
        var change: Double?
        var stock: Int?
        var end: Date?
        var season = Season.any
    }

    static let members: [JSONMember<Offer>] = [
        .text("title", \.title), .bool("new", \.isNew), .number("price", \.price),
        .number("change", \.change, mayBeNegative: true), .count("stock", \.stock), .date("end", \.end),
        .choice("season", \.season, [.any: "Any", .winter: "Winter"], unless: .any),
    ]

    @Test("written members are read again, and nothing is written for members without a value")
    func roundTrip() {
        let offer = Offer(
            title: "Shoe",
            isNew: false,
            price: 89.5,
            change: -3,
            stock: 0,
            end: Date(timeIntervalSince1970: 1.5),
            season: .winter
        )
        let object = Self.members.write(offer)
        let expected: [String: FlagValue] = [
            "title": "Shoe", "new": false, "price": 89.5, "change": -3, "stock": 0, "end": 1500, "season": "Winter",
        ]
        #expect(object == expected)
        var read = Offer()
        let names = Self.members.read(object, into: &read)
        #expect(names == Set(expected.keys))
        #expect(read == offer)
        #expect(Self.members.write(Offer()) == [:])
    }

    @Test("a member of another type isn't read, and its property stays")
    func otherTypes() {
        var offer = Offer(title: "before", season: .winter)
        let object: [String: FlagValue] = [
            "title": 3, "new": "yes", "price": "9", "stock": 1.5, "end": 1e15, "season": "Spring", "other": 1,
        ]
        let names = Self.members.read(object, into: &offer)
        #expect(names == [])
        #expect(offer == Offer(title: "before", season: .winter))
    }

    @Test("numbers that a vendor wouldn't accept are left out, and logged by name only")
    func leftOut() {
        var notes: [WireNote] = []
        let offer = Offer(price: -1, change: .infinity, stock: -1, end: Date.distantFuture + 1e12)
        let object = Self.members.write(offer, &notes)
        #expect(object == [:])
        #expect(
            notes == [
                .warning("price is negative or not a number and was left out"),
                .warning("change is negative or not a number and was left out"),
                .warning("stock is negative and was left out"),
            ]
        )
    }

    @Test("an object without members is removed, and a missing object has no members")
    func objects() {
        var members: [String: FlagValue] = ["text": "a"]
        #expect(members[object: "user"] == [:] && members[object: "text"] == [:])
        members[object: "user"][object: "attributes"]["tier"] = "gold"
        #expect(members == ["text": "a", "user": ["attributes": ["tier": "gold"]]])
        members[object: "user"][object: "attributes"]["tier"] = .null
        #expect(members["user"] == ["attributes": ["tier": .null]])
        members[object: "user"][object: "attributes"].removeValue(forKey: "tier")
        #expect(members == ["text": "a"])
    }

    @Test("parts without a place are logged together, in order, and nothing is logged if there are none")
    func noPlace() {
        var notes: [WireNote] = []
        notes.leaveOut("its value")
        notes.leaveOut("its fields", [])
        notes.leaveOut("its fields", ["b", "a"])
        #expect(
            notes.map(\.text) == ["its value has no place on the wire", "its fields have no place on the wire: a, b"]
        )
        #expect(notes.allSatisfy { $0.level == .warning })
    }
}
