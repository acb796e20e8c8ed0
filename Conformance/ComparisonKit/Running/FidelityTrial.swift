import ConformanceKit
import Experimentation

/// Tracks one event of each type, and determines how much of it reaches the vendor.
struct FidelityTrial: Sendable {
    let subject: any ConformanceSubject
    let world: World

    /// An attribute that the application adds to every event.
    private static let added: Attributes = ["colour": "red"]

    /// Runs the trial.
    ///
    /// - Returns: A result per event type.
    /// - Throws: When the mock doesn't work.
    func play() async throws -> [EventFidelity] {
        let stage = try await subject.open(world)
        do {
            let result = try await run(on: stage)
            await stage.close()
            return result
        } catch {
            await stage.close()
            throw error
        }
    }

    private func run(on stage: any SubjectStage) async throws -> [EventFidelity] {
        let time = SuiteTime()
        let client = try await ExperimentationClient(
            provider: stage.makeProvider(),
            store: .inMemory(),
            environment: ClientEnvironment(time: time, jitter: { 0.5 })
        )
        let user = User(id: "ada", anonymousID: "device-1", isAuthenticated: true, consent: .granted)
        let session = client.session(for: user)
        if subject.capabilities.contains(.experiments) { try? await session.refresh() }
        _ = try await client.flush(within: .seconds(5), retrying: false)
        var results: [EventFidelity] = []
        for example in TrackingEvent.examples {
            var event = example
            event.attributes = event.attributes.merging(Self.added)
            let before = try await stage.received().count
            do throws(ExperimentationError) {
                let begin = time.now
                let id = try await session.trackWithID(event)
                let end = time.now
                _ = try await client.flush(within: .seconds(5), retrying: false)
                var sent = Received(Envelope(id: id, identity: user.identity, event: event, date: begin))
                sent.exchange = 0
                let arrived = try await arrived(at: stage, after: before)
                results.append(EventFidelity(sent, arrived: arrived, trackedBy: end))
            } catch {
                results.append(EventFidelity(type: event.type, refusal: error.message.withoutFullStop))
            }
        }
        await client.shutdown(within: .milliseconds(200))
        return results
    }

    private func arrived(at stage: any SubjectStage, after count: Int) async throws(ExperimentationError) -> [Received]
    {
        do {
            return try await stage.received().dropFirst(count).filter { $0.type != "identity" }
        } catch {
            throw ExperimentationError(.general, "\(error)")
        }
    }
}
