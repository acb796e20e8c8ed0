import Foundation

extension EvergageMock {
    func ping(_ request: MockRequest) -> MockResponse {
        let parameters = EvergageDecoding.parameters(of: request)
        let item = (parameters["item"] ?? parameters[".item"]).flatMap { EvergageJSON(parsing: $0.utf8) }
        guard let dataset = parameters["_ds"], world.datasets.contains(dataset), parameters["_ak"]?.isEmpty == false,
            let millis = parameters[".top"].flatMap(Int.init), (1...60_000).contains(millis),
            let type = item?["type"]?.text, let id = item?["_id"]?.text
        else { return .json(#"{"status":"Error"}"#) }
        let repetition = request.header("X-Event-Id").map { state.isProcessed($0) } ?? false
        state.log(
            .object(parameters.mapValues(EvergageJSON.string)),
            request: request,
            dataset: dataset,
            authenticated: false,
            isRepetition: repetition
        )
        if repetition { return .json(#"{"status":"OK"}"#) }
        request.header("X-Event-Id").map { state.setProcessed($0) }
        let taken = state.addViewTime(
            millis,
            item: "\(EvergageState.fullType(type))/\(id)",
            named: parameters["userId"],
            anonymous: parameters[".anonId"],
            dataset: dataset
        )
        if !taken { state.refuseLast() }
        return .json(taken ? #"{"status":"OK"}"# : #"{"status":"Error"}"#)
    }

    func stats(_ request: MockRequest) -> MockResponse {
        let parameters = EvergageDecoding.parameters(of: request)
        if let dataset = parameters["_ds"], world.datasets.contains(dataset),
            let list = parameters[".cStat"].flatMap({ EvergageJSON(parsing: $0.utf8) })?.array
        {
            state.log(
                .object(parameters.mapValues(EvergageJSON.string)),
                request: request,
                dataset: dataset,
                authenticated: false,
                isRepetition: false
            )
            state.addStats(
                list.compactMap { EvergageEvent.Stat(receiver: $0) },
                named: parameters["userId"],
                anonymous: parameters[".anonId"],
                dataset: dataset
            )
        }
        return MockResponse(status: 200)
    }

    func config(dataset: String, application: String) -> MockResponse {
        guard world.datasets.contains(dataset) else { return failure(404) }
        guard let applications = world.applications else { return .json(#"{"enabled":true}"#) }
        guard let settings = applications[application] else { return failure(404) }
        return .json(settings.description)
    }
}
