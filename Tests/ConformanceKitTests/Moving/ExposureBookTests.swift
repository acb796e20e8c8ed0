import ConformanceKit
import ConformanceSubjects
import ExperimentationMigration
import Testing

@Suite("The exposures of a simulated move")
struct ExposureBookTests {
    private static let mapping = Mapping([
        ExperimentMapping(old: .init("color", group: "color-group"), new: .init("colour"), variations: ["a": "A"]),
        ExperimentMapping(old: .init("price"), new: .init("price"), variations: ["a": "a"]),
    ])

    private static func exposure(_ user: String?, _ experiment: String?) -> Received {
        Received(type: "exposure", userID: user, experiment: experiment, exchange: 1)
    }

    @Test("one that arrives twice doesn't make up for one that is missing")
    func oneByOne() {
        var book = ExposureBook(users: 3, Self.mapping)
        for user in 0..<3 { book.expect(of: user, inExperiment: 0, from: .old) }
        book.receive(Self.exposure("visit-0", "color"), at: .old)
        book.receive(Self.exposure("person-0", "color-group"), at: .old)
        book.receive(Self.exposure("visit-1", "color"), at: .old)
        let sum = ExposureBook.Sum(expected: 3, received: 3, twice: 1, missing: 1)
        #expect(book.sum(at: .old) == sum)
        #expect(book.sum(at: .new) == ExposureBook.Sum())
    }

    @Test("one that arrives again under the same id counts once; under another id it counts twice")
    func sameID() {
        var book = ExposureBook(users: 1, Self.mapping)
        book.expect(of: 0, inExperiment: 0, from: .old)
        for id in ["one", "one", "two"] {
            book.receive(
                Received(type: "exposure", userID: "visit-0", experiment: "color", eventID: id, exchange: 1),
                at: .old
            )
        }
        #expect(book.sum(at: .old) == ExposureBook.Sum(expected: 1, received: 2, twice: 1))
    }

    @Test("one that arrives at the wrong vendor is missing at the right one and superfluous at the wrong one")
    func otherVendor() {
        var book = ExposureBook(users: 1, Self.mapping)
        book.expect(of: 0, inExperiment: 1, from: .new)
        book.receive(Self.exposure("visit-0", "price"), at: .old)
        #expect(book.sum(at: .old) == ExposureBook.Sum(received: 1, twice: 1))
        #expect(book.sum(at: .new) == ExposureBook.Sum(expected: 1, missing: 1))
    }

    @Test(
        "one without a known user or experiment is counted separately",
        arguments: [
            ("visit-3", "color"), ("ada", "color"), (nil, "color"), ("visit-0", "size"), ("visit-0", nil),
        ] as [(String?, String?)]
    )
    func unexpected(user: String?, experiment: String?) {
        var book = ExposureBook(users: 3, Self.mapping)
        book.receive(Self.exposure(user, experiment), at: .old)
        #expect(book.sum(at: .old) == ExposureBook.Sum(unexpected: 1))
    }
}
