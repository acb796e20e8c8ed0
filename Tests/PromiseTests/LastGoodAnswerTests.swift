import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import HTTPTypes
import Testing

@Suite("The last good answer survives bad ones", .timeLimit(.minutes(10)))
struct LastGoodAnswerTests {
    /// Answers without decisions, for any vendor.
    static let bad: [(name: String, answer: ScriptedTransport.Answer)] = {
        func json(_ text: String) -> ScriptedTransport.Answer { .json(text) }
        let statuses = [301, 302, 304, 400, 401, 403, 404, 408, 429, 500, 502, 503, 504]
        let good = Vendor.flagshipAsked.answer(flags: 3, version: 9)
        return statuses.map { ("status \($0)", .status($0)) } + [
            ("nothing", json("")), ("HTML", .body("<!DOCTYPE html><html></html>", type: "text/html")),
            ("truncated", json(String(good.dropLast(20)))), ("cut to a byte", json("{")), ("a list", json("[]")),
            ("null", json("null")), ("a text", json(#""ok""#)), ("a number", json("7")),
            ("two documents", json("{}{}")), ("a name that appears twice", json(#"{"campaigns":[],"campaigns":[]}"#)),
            ("nested too deep", json(String(repeating: #"{"a":"#, count: 100))),
            ("campaigns and flags of the wrong kind", json(#"{"campaigns":7,"feature_flags":7,"experiments":7}"#)),
            (
                "not UTF-8",
                .reply(HTTPReply(response: HTTPResponse(status: .ok), body: [0x7b, 0x22, 0xff, 0x22, 0x7d]))
            ),
            ("a broken connection", .failure(ExperimentationError(.transport, "gone"))),
            ("silence", .failure(ExperimentationError(.timeout, "late"))),
            ("an endless body", .failure(ExperimentationError(.tooLarge, "too large"))),
        ]
    }()

    @Test("P30 no bad answer removes the values; they are stale and report their age", arguments: Vendor.deciding)
    func outlives(_ vendor: Vendor) async throws {
        let time = ManualTime()
        let transport = SwitchedTransport { _ in .json(vendor.answer(flags: 3)) }
        let provider = vendor.provider(transport)
        let client = try await ExperimentationClient(provider: provider, environment: .still(time))
        let session = client.session(for: User(id: "ada", consent: .granted))
        try await session.refresh(force: true)
        #expect(session.details("f1", default: "none").value == "v1")
        #expect(Self.bad.count >= 25)
        for (name, answer) in Self.bad {
            transport.answer(answer)
            // Long enough for any wait after refused credentials or a 429 to end.
            time.advance(by: .seconds(20_000))
            await #expect(throws: ExperimentationError.self, "\(name)") { try await session.refresh(force: true) }
            for flag in ["f0", "f1", "f2"] {
                let details = session.details(flag, default: "none")
                #expect(details.value == "v1", "\(name)")
                #expect(details.reason == .stale, "\(name)")
                #expect(details.age ?? .zero >= .seconds(1), "\(name)")
            }
        }
        time.advance(by: .seconds(20_000))
        transport.answer(.json(vendor.answer(flags: 3, version: 2)))
        try await session.refresh(force: true)
        #expect(session.details("f1", default: "none").value == "v2")
        #expect(session.details("f1", default: "none").reason != .stale)
        await client.shutdown()
    }

    @Test(
        "P45 stored state that was edited, truncated, mixed up or copied counts as missing",
        arguments: 0..<200
    )
    func swapped(seed: Int) async throws {
        var dice = Dice(seed)
        let vendor = Vendor.deciding[seed % Vendor.deciding.count]
        let store = ClientStore.inMemory()
        let transport = SwitchedTransport { _ in .json(vendor.answer(flags: 3)) }
        func client(_ key: Secret = "key-canary") async throws -> ExperimentationClient {
            let provider = vendor.provider(transport, secrets: (key, ""))
            return try await ExperimentationClient(provider: provider, store: store, environment: .still())
        }
        let first = try await client()
        for id in ["ada", "bob"] { try await first.session(for: User(id: id, consent: .granted)).refresh(force: true) }
        await first.shutdown()

        let keys = try await store.state.keys(beginningWith: "")
        #expect(!keys.isEmpty)
        let values = try await withThrowingTaskGroup(of: (String, [UInt8]).self) { group in
            for key in keys { group.addTask { (key, try await store.state.value(for: key) ?? []) } }
            return try await group.reduce(into: [String: [UInt8]]()) { $0[$1.0] = $1.1 }
        }
        let shift = dice.below(max(keys.count - 1, 1)) + 1
        for (index, key) in keys.enumerated() {
            var value = values[key] ?? []
            switch seed / Vendor.deciding.count % 6 {
            case 0: value[dice.below(value.count)] ^= UInt8(1 << dice.below(8))
            case 1: value.removeLast(1 + dice.below(value.count))
            case 2: value.append(UInt8(dice.below(256)))
            case 3 where keys.count > 1: value = values[keys[(index + shift) % keys.count]] ?? []
            case 4: value = Array("{}".utf8)
            default: value.insert(UInt8(dice.below(256)), at: dice.below(value.count))
            }
            guard value != values[key] else { continue }
            try await store.state.setValue(value, for: key)
        }
        transport.answer(.failure(ExperimentationError(.transport, "gone")))
        let second = try await client()
        let session = second.session(for: User(id: "ada", consent: .granted))
        try? await session.refresh(force: true)
        #expect(session.details("f1", default: "none").value == "none")
        // It is fetched again, as if nothing had been stored.
        transport.answer(.json(vendor.answer(flags: 3, version: 2)))
        try await session.refresh(force: true)
        #expect(session.string("f1", default: "none") == "v2")
        await second.shutdown()
    }

    @Test("P45 one account's stored state isn't used for another", arguments: Vendor.deciding)
    func otherAccount(_ vendor: Vendor) async throws {
        let store = ClientStore.inMemory()
        let transport = SwitchedTransport { _ in .json(vendor.answer(flags: 3)) }
        func client(_ scope: String) async throws -> ExperimentationClient {
            let provider: any ExperimentationProvider = vendor.provider(
                transport,
                secrets: (Secret(scope), "")
            )
            return try await ExperimentationClient(provider: provider, store: store, environment: .still())
        }
        try await client("one").session(for: User(id: "ada", consent: .granted)).refresh(force: true)
        transport.answer(.failure(ExperimentationError(.transport, "gone")))
        let same = try await client("one").session(for: User(id: "ada", consent: .granted))
        try? await same.refresh(force: true)
        #expect(same.string("f1", default: "none") == "v1")
        if vendor == .sigma {
            let other = try await client("two").session(for: User(id: "ada", consent: .granted))
            try? await other.refresh(force: true)
            #expect(other.string("f1", default: "none") == "none")
        }
    }
}
