import Experimentation
import ExperimentationTesting
import Foundation
import Testing
import Waiting

@Suite("Values of users in a state store", .timeLimit(.minutes(10)))
struct UserValuesTests {
    private static func values(in store: any StateStore, _ time: ManualTime = ManualTime()) -> UserValues {
        UserValues(in: store, under: "test/", keeping: 8, time: time) { ["new-\($0)/", "old-\($0)/"] }
    }

    @Test("a value is found under its key or the earlier one if it meets the condition, and removed under both")
    func earlierKey() async throws {
        let store = InMemoryStateStore()
        let values = Self.values(in: store)
        try await store.setValue([1], for: "test/old-ada/")
        #expect(await values.value(of: "ada") == [1])
        try await values.set([2], of: "ada")
        #expect(await values.value(of: "ada") == [2])
        #expect(await values.value(of: "ada") { $0 == [1] } == [1])
        #expect(await values.value(of: "ada") { $0 == [3] } == nil)
        try await values.set([4], of: "ben")
        try await values.remove(of: "ada")
        #expect(try await store.keys(beginningWith: "") == ["test/new-ben/"])
    }

    @Test("a value is set unless the present one meets the condition")
    func unless() async throws {
        let values = Self.values(in: InMemoryStateStore())
        try await values.set([1], of: "ada") { _ in true }
        try await values.set([2], of: "ada") { $0 == [1] }
        #expect(await values.value(of: "ada") == [1])
        try await values.set([2], of: "ada") { $0 == [3] }
        #expect(await values.value(of: "ada") == [2])
    }

    @Test("only as many values as the limit are kept")
    func trimmed() async throws {
        let store = InMemoryStateStore()
        let values = Self.values(in: store)
        for number in 0..<30 { try await values.set([1], of: "\(number)") }
        #expect(try await store.keys(beginningWith: "test/").count < 10)
        #expect(await values.value(of: "29") == [1])
    }

    @Test(
        "an unreadable value is read again for a while, and then counts as missing",
        arguments: [(2, true), (10, true), (Int.max, false)]
    )
    func unreadable(times: Int, isFound: Bool) async throws {
        let (store, time) = (InMemoryStateStore(), ManualTime())
        try await Self.values(in: store).set([1], of: "ada")
        let values = Self.values(in: FailingReads(times, of: store), time)
        let start = time.instant
        let reading = Task { await values.value(of: "ada") }
        for _ in 0..<min(times, 10) {
            await time.waitForSleepers(1)
            time.advance(by: .milliseconds(20))
        }
        #expect(await reading.value == (isFound ? [1] : nil))
        #expect(start.duration(to: time.instant) <= .milliseconds(200))
    }

    @Test("bytes are written as hexadecimal digits, and dates are read in every notation of ISO 8601 that vendors use")
    func notations() throws {
        #expect(([0, 0x0F, 0xA0, 0xFF] as [UInt8]).hexadecimal == "000fa0ff")
        let date = try #require(Date(iso8601: "2031-05-02T08:00:00Z"))
        for text in ["2031-05-02T08:00:00.000Z", "2031-05-02T10:00:00+02:00", "2031-05-02T10:00:00.000+0200"] {
            #expect(Date(iso8601: text) == date, "\(text)")
        }
        #expect(Date(iso8601: "2031-05-02") == nil && Date(iso8601: "") == nil)
    }
}
