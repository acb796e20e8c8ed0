import Experimentation
import ExperimentationTesting
import Foundation
import Testing

@Suite("Events behind an earlier one of their user")
struct WaitingBehindTests {
    private let time = ManualTime()

    /// A vendor with several requests per batch: a rejected event keeps its user's later ones unsent, which the adapter
    /// reports as `split`.
    private func vendor(refusing poison: [Int]) -> ScriptedVendor {
        ScriptedVendor { batch in
            var users: Set<String> = []
            return DeliveryReport(
                batch.map { envelope in
                    let user = envelope.identity.id
                    if users.contains(user) { return .split("an earlier event of the user wasn't taken") }
                    guard let number = envelope.event.number, poison.contains(number) else { return .delivered }
                    users.insert(user)
                    return .failed("HTTP 400")
                }
            )
        }
    }

    @Test(
        "P07 they aren't sent before it, count no attempt, delay no other user, and go at once when it is dropped"
    )
    func behind() async throws {
        let vendor = vendor(refusing: [0])
        let client = try await vendor.client(time: time)
        let ada = client.session(for: User(id: "ada"))
        let ben = client.session(for: User(id: "ben"))
        try await ada.track(.numbered(0))
        try await ada.track(.numbered(1))
        try await ben.track(.numbered(2))
        try await ada.track(.numbered(3))
        try await client.flush(retrying: false)
        #expect(vendor.record.received.compactMap(\.event.number) == [2])
        try await client.expectBalance(Ledger(accepted: 4, delivered: 1, pending: 3))
        try await ben.track(.numbered(4))
        // No outage, so nothing waits.
        try await client.flush(retrying: false)
        #expect(vendor.record.received.compactMap(\.event.number) == [2, 4])
        try await client.drain(time)
        #expect(vendor.record.received.compactMap(\.event.number) == [2, 4, 1, 3])
        #expect(vendor.record.received.allSatisfy { $0.attempts == 0 })
        // Three attempts, and no wait between the last one and the event behind.
        #expect(vendor.record.batches.suffix(3).map { $0.compactMap(\.event.number) } == [[0, 1, 3], [1], [3]])
        try await client.expectBalance(Ledger(accepted: 5, delivered: 4, dropped: [.exhausted: 1]))
    }

    @Test("P14 two users with rejected events don't delay each other's events")
    func two() async throws {
        let vendor = vendor(refusing: [0, 1])
        let client = try await vendor.client(time: time)
        let sessions = ["ada", "ben"].map { client.session(for: User(id: $0)) }
        for number in 0..<6 { try await sessions[number % 2].track(.numbered(number)) }
        try await client.drain(time)
        #expect(vendor.record.received.compactMap(\.event.number).sorted() == [2, 3, 4, 5])
        for user in ["ada", "ben"] {
            let own = vendor.record.received.filter { $0.identity.id == user }.compactMap(\.event.number)
            #expect(own == own.sorted())
        }
        try await client.expectBalance(Ledger(accepted: 6, delivered: 4, dropped: [.exhausted: 2]))
    }
}
