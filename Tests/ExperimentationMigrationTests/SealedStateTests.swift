import Experimentation
import Testing

@testable import ExperimentationMigration

@Suite("A move's records are trusted only as they were written")
struct SealedStateTests {
    private let store = InMemoryStateStore()
    private let ada = Identity(id: "ada")
    private let person = Person(side: .new, isKnown: true, places: ["old/theme": .init(variation: "dark", by: .old)])

    private var people: People { People(in: store, log: NoLog()) }

    /// Writes the record; returns its key and bytes.
    private func write(_ identity: Identity) async throws -> (key: String, bytes: [UInt8]) {
        let found = try await people.find(identity)
        #expect(try await people.write(person, over: found, of: identity))
        let key = People.prefix + StableKey(identity).digest
        return (key, try #require(try await store.value(for: key)))
    }

    @Test("a record with any byte changed counts as missing, and can be written again")
    func changed() async throws {
        let (key, bytes) = try await write(ada)
        for index in bytes.indices {
            var spoilt = bytes
            spoilt[index] ^= 0x20
            try await store.setValue(spoilt, for: key)
            let found = try await people.find(ada)
            #expect(found.person == Person(), "byte \(index)")
            #expect(try await people.write(person, over: found, of: ada), "byte \(index)")
            #expect(try await store.value(for: key) == bytes, "byte \(index)")
        }
    }

    @Test("a truncated record counts as missing")
    func cut() async throws {
        let (key, bytes) = try await write(ada)
        for length in 0..<bytes.count {
            try await store.setValue(Array(bytes.prefix(length)), for: key)
            #expect(try await people.find(ada).person == Person(), "\(length) bytes")
        }
    }

    @Test("another user's record isn't accepted")
    func copied() async throws {
        let (_, bytes) = try await write(ada)
        let bob = Identity(id: "bob")
        try await store.setValue(bytes, for: People.prefix + StableKey(bob).digest)
        #expect(try await people.find(bob).person == Person())
    }

    @Test("of two writers that replace a damaged record the first one wins, and the other sees its value")
    func race() async throws {
        let (key, bytes) = try await write(ada)
        try await store.setValue(Array(bytes.dropLast()), for: key)
        let first = try await people.find(ada)
        let second = try await people.find(ada)
        var other = person
        other.side = .old
        #expect(try await people.write(person, over: first, of: ada))
        #expect(try await !people.write(other, over: second, of: ada))
        #expect(try await people.find(ada).person.side == .new)
    }

    @Test("compare-and-set works as on a plain store")
    func compareAndSet() async throws {
        let sealed = SealedState(store, log: NoLog())
        #expect(try await sealed.update("key", to: [1], if: nil) == .updated)
        #expect(try await sealed.update("key", to: [2], if: nil) == .conflict([1]))
        #expect(try await sealed.update("key", to: [2], if: [3]) == .conflict([1]))
        #expect(try await sealed.update("key", to: [2], if: [1]) == .updated)
        try await store.setValue([7], for: "key")
        #expect(try await sealed.update("key", to: [4], if: [2]) == .conflict(nil))
        #expect(try await sealed.update("key", to: [4], if: nil) == .updated)
        #expect(try await sealed.update("key", to: nil, if: [4]) == .updated)
        #expect(try await store.value(for: "key") == nil)
    }
}
