import ExperimentationTesting
import Foundation
import Synchronization
import Testing
import Waiting

@testable import Experimentation

/// A flag's type in the application.
private struct Theme: Codable, Sendable, Equatable {
    var color = "plain"
    var size = 1
}

/// Counts its decodings by name.
private struct Counted: Decodable, Sendable {
    static let decoded = Mutex<[String: Int]>([:])
    var name: String

    init(name: String) { self.name = name }

    init(from decoder: any Decoder) throws {
        name = try decoder.singleValueContainer().decode([String: String].self)["name"] ?? ""
        Self.decoded.withLock { [name] in $0[name, default: 0] += 1 }
    }
}

@Suite("Values in an application's types")
struct ApplicationTypesTests {
    private func client(_ flags: [InMemoryFlag], options: ClientOptions = ClientOptions()) async throws -> (
        InMemoryProvider, ExperimentationClient
    ) {
        let provider = InMemoryProvider(flags: flags)
        return (provider, try await ExperimentationClient(provider: provider, options: options))
    }

    @Test("strings, optionals, dates, lists and custom types become attributes")
    func attributes() throws {
        let (plan, age, none, at) = ("pro", Int?.some(41), String?.none, Date(timeIntervalSince1970: 0))
        var attributes = Attributes(of: ["plan": plan, "age": age, "none": none, "since": at, "tags": ["a", "b"]])
        attributes.set([1: 2].count, for: "count")
        attributes.set(try FlagValue(encoding: Theme()), for: "theme")
        #expect(
            attributes == [
                "plan": "pro", "age": 41, "since": "1970-01-01T00:00:00.000Z", "tags": ["a", "b"], "count": 1,
                "theme": ["color": "plain", "size": 1],
            ]
        )
        attributes.set(none, for: "plan")
        #expect(attributes["plan"] == nil)
    }

    @Test("an object flag is decoded once while it stays the same, even after refreshes")
    func decodedOnce() async throws {
        let (provider, client) = try await client([InMemoryFlag("counted", ["name": "one"])])
        let session = client.session(for: User(id: "ada", consent: .granted))
        for _ in 0..<2 {
            try await session.refresh(force: true)
            for _ in 0..<3 { #expect(session.value("counted", default: Counted(name: "none")).name == "one") }
        }
        provider.replace(flags: [InMemoryFlag("counted", ["name": "two"])])
        try await session.refresh(force: true)
        for _ in 0..<3 { #expect(session.value("counted", default: Counted(name: "none")).name == "two") }
        #expect(Counted.decoded.withLock { $0 } == ["one": 1, "two": 1])
    }

    @Test("a time is written back unchanged, whatever its milliseconds")
    func times() throws {
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        let texts = (0..<1_000).map { "2026-11-22T21:34:04.\(String($0 + 1_000).dropFirst())Z" }
        #expect(try texts.map { try style.parse($0).iso8601Milliseconds } == texts)
    }

    @Test(
        "a time of any year is written in the same form",
        arguments: [
            (-0.001, "1969-12-31T23:59:59.999Z"), (951_782_400, "2000-02-29T00:00:00.000Z"),
            (-62_035_891_199.75, "0004-02-29T00:00:00.250Z"), (1_735_689_599.9996, "2025-01-01T00:00:00.000Z"),
            (-.infinity, "0001-01-01T00:00:00.000Z"), (.infinity, "9999-12-31T23:59:59.000Z"),
        ]
    )
    func years(seconds: Double, text: String) {
        #expect(Date(timeIntervalSince1970: seconds).iso8601Milliseconds == text)
    }

    @Test(
        "an object flag is read as a type, with and without a session; a mismatch yields the default and its position"
    )
    func decodable() async throws {
        let (_, client) = try await client([
            InMemoryFlag("theme", ["color": "green", "size": 3]),
            InMemoryFlag("odd", ["color": "green", "size": "big"]),
        ])
        let session = client.session(for: User(id: "ada", consent: .granted))
        try await session.refresh()
        let ada = try await client.decisions(for: User(id: "ada"))
        for _ in 0..<2 {
            #expect(session.value("theme", default: Theme()) == Theme(color: "green", size: 3))
            #expect(ada.value("theme", default: Theme()) == Theme(color: "green", size: 3))
        }
        let odd = session.details("odd", as: Theme.self, default: Theme())
        #expect(odd.value == Theme())
        #expect(odd.reason == .error)
        #expect(odd.errorCode == .typeMismatch)
        #expect(odd.errorMessage?.contains("size") == true)
        #expect(session.value("none", default: Theme()) == Theme())
    }

    @Test("an override applies everywhere, is recognizable, and can be removed")
    func overrides() async throws {
        let (provider, client) = try await client([InMemoryFlag("color", "red")])
        let user = User(id: "ada", consent: .granted)
        let session = client.session(for: user)
        client.overrideFlag("color", with: "blue")
        client.overrideFlag("new", with: true)
        for _ in 0..<2 {
            let details = session.details("color", default: "none")
            #expect(details.value == "blue")
            #expect(details.reason == .localOverride)
            #expect(session.string("color", default: "none") == "blue")
            #expect(client.string("color", default: "none", for: user) == "blue")
            #expect(session.bool("new", default: false))
            #expect(session.details("new", default: 7).errorCode == .typeMismatch)
            try await session.refresh()
        }
        #expect(client.flagOverrides == ["color": "blue", "new": true])
        client.overrideFlag("color", with: String?.none)
        #expect(session.string("color", default: "none") == "red")
        client.removeFlagOverrides()
        #expect(session.details("new", default: false).errorCode == .flagNotFound)
        #expect(provider.exposures.isEmpty)
    }

    @Test("an override doesn't apply to another flag whose key is canonically equivalent")
    func equivalentOverrides() async throws {
        let (_, client) = try await client([InMemoryFlag("e\u{301}", 1), InMemoryFlag("\u{e9}", 2)])
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        func values() -> [Int] { ["e\u{301}", "\u{e9}"].map { session.int($0, default: 0) } }
        client.overrideFlag("e\u{301}", with: 3)
        #expect(values() == [3, 2])
        client.overrideFlag("\u{e9}", with: 4)
        #expect(values() == [3, 4])
        client.overrideFlag("e\u{301}", with: Int?.none)
        #expect(values() == [1, 4] && client.flagOverrides == ["\u{e9}": 4])
    }

    @Test("a session announces only flags whose value changed")
    func changes() async throws {
        let (provider, client) = try await client([InMemoryFlag("a", 1), InMemoryFlag("b", 1)])
        let session = client.session(for: User(id: "ada"))
        let changes = session.changes
        try await session.refresh()
        try await session.refresh(force: true)
        provider.replace(flags: [InMemoryFlag("a", 2), InMemoryFlag("b", 1)])
        try await session.refresh(force: true)
        client.overrideFlag("b", with: 5)
        var iterator = changes.makeAsyncIterator()
        #expect(await iterator.next() == DecisionChange(flags: ["a", "b"], status: .ready))
        #expect(await iterator.next() == DecisionChange(flags: ["a"], status: .ready))
        #expect(await iterator.next() == DecisionChange(flags: ["b"], status: .ready))
    }

    @Test("a session announces that the kill switch turns every flag off, and on again", .timeLimit(.minutes(1)))
    func killSwitch() async throws {
        let (provider, client) = try await client([InMemoryFlag("a", 1), InMemoryFlag("b", 1)])
        let session = client.session(for: User(id: "ada"))
        let other = client.session(for: User(id: "bob"))
        try await session.refresh()
        var changes = session.changes.makeAsyncIterator()
        var others = other.changes.makeAsyncIterator()
        provider.setDisabled(true)
        try await session.refresh(force: true)
        #expect(await changes.next() == DecisionChange(flags: ["a", "b"], status: .disabled))
        #expect(await others.next() == DecisionChange(flags: [], status: .disabled))
        provider.setDisabled(false)
        try await session.refresh(force: true)
        #expect(await changes.next() == DecisionChange(flags: ["a", "b"], status: .ready))
        #expect(await others.next() == DecisionChange(flags: [], status: .notReady))
        await client.shutdown()
    }

    @Test("bundled values are read until there are decisions, also from a file")
    func bootstrap() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "bootstrap-\(FreshID.make()).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(#"{"color":"grey","size":3}"#.utf8).write(to: file)
        let options = ClientOptions(bootstrap: try Bootstrap(contentsOf: file))
        let (_, client) = try await client([InMemoryFlag("color", "red")], options: options)
        let user = User(id: "ada", consent: .granted)
        let session = client.session(for: user)
        for details in [session.details("color", default: "none"), client.details("color", default: "none", for: user)]
        {
            #expect(details.value == "grey")
            #expect(details.reason == .bundled)
        }
        #expect(session.int("size", default: 0) == 3)
        #expect(session.details("other", default: 0).errorCode == .providerNotReady)
        try await session.refresh()
        #expect(session.string("color", default: "none") == "red")
        #expect(session.details("size", default: 0).errorCode == .flagNotFound)
        #expect(throws: ExperimentationError.self) { try Bootstrap(json: Array("[1]".utf8)) }
        #expect(throws: ExperimentationError.self) { try Bootstrap(contentsOf: file.appending(path: "none")) }
    }

    @Test("a user without a session can track, consent and withdraw")
    func server() async throws {
        let (provider, client) = try await client([])
        let ada = User(id: "ada", attributes: ["vip": true])
        let id = try await client.track(.custom("one"), for: ada)
        #expect(try await client.waitingEvents().map(\.envelope.id) == [id])
        #expect(try await client.waitingEvents().map(\.envelope.attributeChanges) == [["vip": true]])
        #expect(try await client.outboxStatus().held == 1)
        try await client.setConsent(.granted, for: ada)
        try await eventually("an empty outbox") { try await client.flush().isDone }
        #expect(provider.delivered.first == .custom("one"))
        try await client.setConsent(.denied, for: ada)
        var denied = ada
        denied.consent = .denied
        await #expect { try await client.track(.custom("two"), for: denied) } throws: {
            ($0 as? ExperimentationError)?.code == .consentDenied
        }
        #expect(client.supports(.custom("x")) && !client.supports(.custom("")))
        await client.shutdown()
    }

    @Test("a drop reason prints as its name")
    func dropReason() { #expect("\(Ledger.DropReason.overflow)" == "overflow") }
}
