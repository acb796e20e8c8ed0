import Dispatch
import Experimentation
import ExperimentationTesting
import Testing

@Suite("Attributes")
struct AttributeTests {
    @Test("a null removes an attribute, and replacing all removes those that aren't given")
    func removing() async throws {
        let client = try await ExperimentationClient(provider: InMemoryProvider())
        let session = client.session(for: User(id: "ada", attributes: ["a": 1, "b": 2], consent: .granted))
        try session.update(["a": .null])
        #expect(session.user.attributes == ["b": 2])
        try session.replaceAttributes(["c": 3])
        #expect(session.user.attributes == ["c": 3])
        await client.shutdown()
    }

    @Test("of two concurrent replacements, one wins completely")
    func replacing() async throws {
        let client = try await ExperimentationClient(provider: InMemoryProvider())
        for _ in 0..<2_000 {
            let session = client.session(for: User(id: "ada", consent: .granted))
            DispatchQueue.concurrentPerform(iterations: 2) { index in
                try? session.replaceAttributes(index == 0 ? ["a": 1] : ["b": 1])
            }
            let attributes = session.user.attributes
            #expect(attributes == ["a": 1] || attributes == ["b": 1])
        }
        await client.shutdown()
    }
}
