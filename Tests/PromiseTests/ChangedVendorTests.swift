import Experimentation
import ExperimentationSQLite
import ExperimentationTesting
import Foundation
import Testing

@Suite("The one line that changes with the vendor")
struct ChangedVendorTests {
    @Test("events in the README's store for one vendor are never sent to another, and wait for their own")
    func waits() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "changed-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = folder.appending(path: "outbox.sqlite")
        let away = SwitchedTransport { _ in .failure(ExperimentationError(.transport, "gone")) }
        func client(_ vendor: Vendor, _ transport: SwitchedTransport) async throws -> ExperimentationClient {
            try await ExperimentationClient(
                provider: vendor.provider(transport),
                store: .sqlite(at: url),
                environment: .still()
            )
        }
        let before = try await client(.flagshipAsked, away)
        let session = before.session(for: User(id: "ada", consent: .granted))
        for number in 0..<3 { try await session.track(.custom("spun-\(number)")) }
        await before.shutdown(within: .zero)

        let others = SwitchedTransport { _ in .json("{}") }
        let after = try await client(.evergage, others)
        _ = try await after.flush(retrying: false)
        #expect(others.requests.isEmpty)
        #expect(try await after.ledger() == Ledger())
        #expect(try await after.ledgers().filter { $0.key.provider == "flagship" }.values.map(\.pending) == [3])
        await after.shutdown(within: .zero)

        let own = SwitchedTransport { _ in .json("{}") }
        let again = try await client(.flagshipAsked, own)
        _ = try await again.flush(retrying: false)
        #expect(try await again.ledger() == Ledger(accepted: 3, delivered: 3))
        #expect(!own.requests.isEmpty)
        await again.shutdown(within: .zero)
    }
}
