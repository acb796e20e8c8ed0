import Experimentation

/// Two observers, one around the other.
struct NestedObservers: OperationObserver {
    private let outer: any OperationObserver
    private let inner: any OperationObserver

    init(_ outer: any OperationObserver, _ inner: any OperationObserver) { (self.outer, self.inner) = (outer, inner) }

    func around<Value: Sendable>(
        _ operation: ObservedOperation,
        isolation: isolated (any Actor)?,
        _ body: ([String: String]) async -> (Value, OperationOutcome)
    ) async -> Value {
        await outer.around(operation, isolation: isolation) { given in
            await inner.around(operation, isolation: isolation) { own in
                // The inner observer is nearer to the request: of two trace headers, the inner one's names the parent.
                let (value, outcome) = await body(given.merging(own) { $1 })
                return ((value, outcome), outcome)
            }
        }
    }
}
