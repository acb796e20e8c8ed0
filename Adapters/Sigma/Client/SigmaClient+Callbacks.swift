/// The same calls with callbacks, for code that can't await.
///
/// Callbacks run on the main actor, never within the call. An outcome without a callback is discarded, but the work is
/// still done.
extension SigmaClient {
    /// Called with a value.
    public typealias SuccessCallback<Value> = @MainActor @Sendable (Value) -> Void
    /// Called with an error.
    public typealias ErrorCallback = @MainActor @Sendable (SigmaError) -> Void

    /// Calls back with ``checkFlag(flagName:)``.
    public func checkFlag<T: SigmaPropertyType>(
        flagName: String,
        onSuccess: SuccessCallback<T?>?,
        onError: ErrorCallback?
    ) {
        call(onSuccess, onError) { () async throws(SigmaError) in try await self.checkFlag(flagName: flagName) }
    }

    /// Calls back with ``getUserFeatureFlagsDetails()``.
    public func getUserFeatureFlagsDetails(
        onSuccess: SuccessCallback<[String: any SigmaPropertyType]>?,
        onError: ErrorCallback?
    ) {
        call(onSuccess, onError) { () async throws(SigmaError) in try await self.getUserFeatureFlagsDetails() }
    }

    /// Calls back with ``getAllUserExperiments(estimateHoldouts:)``.
    public func getAllUserExperiments(
        estimateHoldouts: Bool = true,
        onSuccess: SuccessCallback<String?>?,
        onError: ErrorCallback?
    ) {
        call(onSuccess, onError) { () async throws(SigmaError) in
            try await self.getAllUserExperiments(estimateHoldouts: estimateHoldouts)
        }
    }

    /// Calls back with ``allUserExperiments()``.
    public func allUserExperiments(onSuccess: SuccessCallback<[SigmaExperiment]>?, onError: ErrorCallback?) {
        call(onSuccess, onError) { () async throws(SigmaError) in try await self.allUserExperiments() }
    }

    /// Calls back with ``getUserExperimentsDetails(estimateHoldouts:)``.
    public func getUserExperimentsDetails(
        estimateHoldouts: Bool = true,
        onSuccess: SuccessCallback<[SigmaExperimentDetail]>?,
        onError: ErrorCallback?
    ) {
        call(onSuccess, onError) { () async throws(SigmaError) in
            try await self.getUserExperimentsDetails(estimateHoldouts: estimateHoldouts)
        }
    }

    /// Calls back with ``getExperiment(name:)``.
    public func getExperiment(
        name: String,
        onSuccess: SuccessCallback<SigmaExperiment?>?,
        onError: ErrorCallback?
    ) {
        call(onSuccess, onError) { () async throws(SigmaError) in try await self.getExperiment(name: name) }
    }

    /// Calls back with ``getHoldout(name:)``.
    public func getHoldout(name: String, onSuccess: SuccessCallback<Bool>?, onError: ErrorCallback?) {
        call(onSuccess, onError) { () async throws(SigmaError) in try await self.getHoldout(name: name) }
    }

    /// Calls back with ``getAllUserHoldouts()``.
    public func getAllUserHoldouts(onSuccess: SuccessCallback<String?>?, onError: ErrorCallback?) {
        call(onSuccess, onError) { () async throws(SigmaError) in try await self.getAllUserHoldouts() }
    }

    /// Calls back after ``includeForce(experimentName:groupIndex:)``.
    public func includeForce(
        experimentName: String,
        groupIndex: Int? = nil,
        onSuccess: SuccessCallback<Void>?,
        onError: ErrorCallback?
    ) {
        call(onSuccess, onError) { () async throws(SigmaError) in
            try await self.includeForce(experimentName: experimentName, groupIndex: groupIndex)
        }
    }

    /// Calls back after ``excludeForce(experimentName:)``.
    public func excludeForce(experimentName: String, onSuccess: SuccessCallback<Void>?, onError: ErrorCallback?) {
        call(onSuccess, onError) { () async throws(SigmaError) in
            try await self.excludeForce(experimentName: experimentName)
        }
    }

    /// Calls back after ``excludeForceAll()``.
    public func excludeForceAll(onSuccess: SuccessCallback<Void>?, onError: ErrorCallback?) {
        call(onSuccess, onError) { () async throws(SigmaError) in try await self.excludeForceAll() }
    }

    private func call<Value>(
        _ onSuccess: SuccessCallback<Value>?,
        _ onError: ErrorCallback?,
        _ work: @escaping @Sendable () async throws(SigmaError) -> Value
    ) {
        Task { @MainActor in
            do throws(SigmaError) {
                let value = try await work()
                onSuccess?(value)
            } catch {
                onError?(error)
            }
        }
    }
}
